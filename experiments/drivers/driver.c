// SPDX-License-Identifier: GPL-2.0
/*
 * A driver whose probe waits five times for its device, as the IDE probe of the eLinux page
 * "Filesystem Information" does: 50 ms each, with the processor kept busy or given away.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/platform_device.h>

static int busy = 1;
module_param(busy, int, 0444);
MODULE_PARM_DESC(busy, "1: mdelay, 0: msleep");

static int wait_ms = 50;
module_param(wait_ms, int, 0444);
MODULE_PARM_DESC(wait_ms, "milliseconds of each wait");

static int planted_probe(struct platform_device *device)
{
	int i;

	for (i = 0; i < 5; i++) {
		if (busy)
			mdelay(wait_ms);
		else
			msleep(wait_ms);
	}
	return 0;
}

static struct platform_driver planted_driver = {
	.driver.name = "planted-driver",
	.probe = planted_probe,
};

static struct platform_device *planted_device;

static int __init planted_init(void)
{
	planted_device = platform_device_register_simple("planted-driver", -1, NULL, 0);
	if (IS_ERR(planted_device))
		return PTR_ERR(planted_device);
	/* The device is there, so this probes it before it returns. */
	return platform_driver_register(&planted_driver);
}

static void __exit planted_exit(void)
{
	platform_driver_unregister(&planted_driver);
	platform_device_unregister(planted_device);
}

module_init(planted_init);
module_exit(planted_exit);
MODULE_DESCRIPTION("A driver that waits in its probe");
MODULE_LICENSE("GPL");
