/*
 * A plugin for QEMU: after each store to a device, how many instructions have been executed.
 * `-plugin count.so,page=0x01c28000` is for the devices on that page of 4 KiB.
 *
 * QEMU records no boot of a machine with more than one processor (`rr=record`), and so leaves
 * no count. The plugin writes to the log of `-d plugin`; measure.py reads there what
 * `-trace serial_write` has written before.
 *
 * QEMU's header of plugins is in no package of Debian 12. Version 1 of the interface is
 * declared here, as much of it as is called.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct block;
struct instruction;
struct place;
enum { NO_REGISTERS, ADD = 0, WRITES = 2 };
typedef void translated(uint64_t id, struct block *block);
typedef void accessed(unsigned cpu, uint32_t access, uint64_t address, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated *call);
size_t qemu_plugin_tb_n_insns(const struct block *block);
struct instruction *qemu_plugin_tb_get_insn(const struct block *block, size_t index);
void qemu_plugin_register_vcpu_insn_exec_inline(struct instruction *one, int operation, void *to,
						uint64_t by);
void qemu_plugin_register_vcpu_mem_cb(struct instruction *one, accessed *call, int registers,
				      int direction, void *data);
struct place *qemu_plugin_get_hwaddr(uint32_t access, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct place *place);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct place *place);
void qemu_plugin_outs(const char *text);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t executed, page;

static void store(unsigned cpu, uint32_t access, uint64_t address, void *data)
{
	struct place *place = qemu_plugin_get_hwaddr(access, address);
	char line[40];

	if (!qemu_plugin_hwaddr_is_io(place) ||
	    qemu_plugin_hwaddr_phys_addr(place) >> 12 != page >> 12)
		return;
	snprintf(line, sizeof(line), "executed %" PRIu64 "\n", executed);
	qemu_plugin_outs(line);
}

static void translate(uint64_t id, struct block *block)
{
	size_t count = qemu_plugin_tb_n_insns(block);

	for (size_t index = 0; index < count; index++) {
		struct instruction *one = qemu_plugin_tb_get_insn(block, index);

		qemu_plugin_register_vcpu_insn_exec_inline(one, ADD, &executed, 1);
		qemu_plugin_register_vcpu_mem_cb(one, store, NO_REGISTERS, WRITES, NULL);
	}
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const void *info,
							       int argc, char **argv)
{
	if (argc != 1 || sscanf(argv[0], "page=%" SCNx64, &page) != 1)
		return 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	return 0;
}
