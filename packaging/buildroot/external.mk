include $(sort $(wildcard $(BR2_EXTERNAL_FIRSTLIGHT_PATH)/package/*/*.mk))
