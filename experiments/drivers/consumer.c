// SPDX-License-Identifier: GPL-2.0
/*
 * A driver that sets its device up and only then looks for the device's supplier, as many do. If
 * that has no driver yet, the kernel probes the device again later.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/platform_device.h>

static int setup_ms = 40;
module_param(setup_ms, int, 0444);
MODULE_PARM_DESC(setup_ms, "milliseconds that the setup takes");

static int consumer_probe(struct platform_device *device)
{
	struct device *supplier;
	bool is_ready;

	mdelay(setup_ms);
	supplier = bus_find_device_by_name(&platform_bus_type, NULL, "planted-supplier");
	is_ready = supplier && supplier->driver;
	put_device(supplier);
	return is_ready ? 0 : -EPROBE_DEFER;
}

static struct platform_driver consumer_driver = {
	.driver.name = "planted-consumer",
	.probe = consumer_probe,
};

static struct platform_device *consumer;

static int __init consumer_init(void)
{
	consumer = platform_device_register_simple("planted-consumer", -1, NULL, 0);
	if (IS_ERR(consumer))
		return PTR_ERR(consumer);
	return platform_driver_register(&consumer_driver);
}

static void __exit consumer_exit(void)
{
	platform_driver_unregister(&consumer_driver);
	platform_device_unregister(consumer);
}

module_init(consumer_init);
module_exit(consumer_exit);
MODULE_DESCRIPTION("A driver whose device needs another one");
MODULE_LICENSE("GPL");
