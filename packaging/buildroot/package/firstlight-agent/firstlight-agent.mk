################################################################################
#
# firstlight-agent
#
################################################################################

FIRSTLIGHT_AGENT_VERSION = 0.1.0
FIRSTLIGHT_AGENT_SITE = https://github.com/firstlight-boot/firstlight/releases/download/v$(FIRSTLIGHT_AGENT_VERSION)
FIRSTLIGHT_AGENT_LICENSE = MIT or Apache-2.0

ifeq ($(BR2_x86_64),y)
FIRSTLIGHT_AGENT_ARCH = x86_64
else ifeq ($(BR2_aarch64),y)
FIRSTLIGHT_AGENT_ARCH = aarch64
else ifeq ($(BR2_riscv),y)
FIRSTLIGHT_AGENT_ARCH = riscv64
else ifeq ($(BR2_ARM_CPU_ARMV7A),y)
FIRSTLIGHT_AGENT_ARCH = armv7
else
FIRSTLIGHT_AGENT_ARCH = armv5
endif

FIRSTLIGHT_AGENT_SOURCE = firstlight-agent-$(FIRSTLIGHT_AGENT_ARCH)

define FIRSTLIGHT_AGENT_EXTRACT_CMDS
	cp $(FIRSTLIGHT_AGENT_DL_DIR)/$(FIRSTLIGHT_AGENT_SOURCE) $(@D)/firstlight-agent
endef

define FIRSTLIGHT_AGENT_INSTALL_TARGET_CMDS
	$(INSTALL) -D -m 0755 $(@D)/firstlight-agent \
		$(TARGET_DIR)/usr/lib/firstlight-agent/firstlight-agent
	$(INSTALL) -D -m 0755 $(FIRSTLIGHT_AGENT_PKGDIR)/collect \
		$(TARGET_DIR)/usr/lib/firstlight-agent/collect
endef

define FIRSTLIGHT_AGENT_INSTALL_INIT_SYSV
	$(INSTALL) -D -m 0755 $(FIRSTLIGHT_AGENT_PKGDIR)/S99firstlight-agent \
		$(TARGET_DIR)/etc/init.d/S99firstlight-agent
endef

define FIRSTLIGHT_AGENT_INSTALL_INIT_SYSTEMD
	$(INSTALL) -D -m 0644 $(FIRSTLIGHT_AGENT_PKGDIR)/firstlight-agent.service \
		$(TARGET_DIR)/usr/lib/systemd/system/firstlight-agent.service
endef

$(eval $(generic-package))
