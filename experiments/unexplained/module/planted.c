// SPDX-License-Identifier: MIT OR Apache-2.0
/* A module that takes as long as it is told: in its initcall, in the probe of a device, in
 * a probe that the driver core runs beside others, in one that is deferred first, and until
 * a device appears. usleep_range() and not a loop, so that the time is known and not counted, and
 * not msleep(), whose timers come up to an eighth late. */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/workqueue.h>

static void wait(int ms)
{
	if (ms > 0)
		usleep_range(ms * 1000UL, ms * 1000UL + 1);
}

static int init_ms, probe_ms, async_ms, load_ms, late_ms;
module_param(init_ms, int, 0);
module_param(probe_ms, int, 0);
module_param(async_ms, int, 0);
module_param(late_ms, int, 0);

/* A parameter is parsed while the module is loaded, before its initcall. */
static int load(const char *value, const struct kernel_param *param)
{
	int error = param_set_int(value, param);

	if (!error)
		wait(load_ms);
	return error;
}
static const struct kernel_param_ops load_ops = { .set = load, .get = param_get_int };
module_param_cb(load_ms, &load_ops, &load_ms, 0);

static int probe(struct platform_device *device)
{
	wait(probe_ms);
	return 0;
}

static int probe_beside(struct platform_device *device)
{
	wait(async_ms);
	return 0;
}

static struct platform_driver driver = {
	.probe = probe,
	.driver = { .name = "planted-probe" },
};

static struct platform_driver driver_beside = {
	.probe = probe_beside,
	.driver = {
		.name = "planted-async",
		.probe_type = PROBE_PREFER_ASYNCHRONOUS,
	},
};

static const struct file_operations operations = { .owner = THIS_MODULE };
static struct miscdevice late_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "planted-late",
	.fops = &operations,
};

static void appear(struct work_struct *work)
{
	wait(late_ms);
	if (misc_register(&late_device))
		pr_err("planted: the device cannot be registered\n");
}
static DECLARE_WORK(late, appear);

static struct platform_device *probed, *probed_beside;

static int __init planted_init(void)
{
	wait(init_ms);
	if (probe_ms) {
		probed = platform_device_register_simple("planted-probe", -1, NULL, 0);
		platform_driver_register(&driver);
	}
	if (async_ms) {
		probed_beside = platform_device_register_simple("planted-async", -1, NULL, 0);
		platform_driver_register(&driver_beside);
	}
	if (late_ms)
		schedule_work(&late);
	return 0;
}
module_init(planted_init);

static void __exit planted_exit(void)
{
	if (probed) {
		platform_driver_unregister(&driver);
		platform_device_unregister(probed);
	}
	if (probed_beside) {
		platform_driver_unregister(&driver_beside);
		platform_device_unregister(probed_beside);
	}
	if (late_ms) {
		flush_work(&late);
		misc_deregister(&late_device);
	}
}
module_exit(planted_exit);
MODULE_DESCRIPTION("Delays of known length");
MODULE_LICENSE("Dual MIT/GPL");
