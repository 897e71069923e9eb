// SPDX-License-Identifier: GPL-2.0
/* The driver that consumer.c waits for. */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/platform_device.h>

static int supplier_probe(struct platform_device *device)
{
	return 0;
}

static struct platform_driver supplier_driver = {
	.driver.name = "planted-supplier",
	.probe = supplier_probe,
};

static struct platform_device *supplier;

static int __init supplier_init(void)
{
	supplier = platform_device_register_simple("planted-supplier", -1, NULL, 0);
	if (IS_ERR(supplier))
		return PTR_ERR(supplier);
	return platform_driver_register(&supplier_driver);
}

static void __exit supplier_exit(void)
{
	platform_driver_unregister(&supplier_driver);
	platform_device_unregister(supplier);
}

module_init(supplier_init);
module_exit(supplier_exit);
MODULE_DESCRIPTION("A driver that another one needs");
MODULE_LICENSE("GPL");
