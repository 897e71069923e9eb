# Adds the agent to an image, so that each boot leaves one capture.

FIRSTLIGHT_START ?= "system"

IMAGE_INSTALL:append = " firstlight-agent-bin"

# `kernel`: the agent is the first program, and starts the real init itself.
APPEND:append = "${@bb.utils.contains('FIRSTLIGHT_START', 'kernel', ' init=/usr/lib/firstlight-agent/firstlight-agent firstlight.out=/var/lib/firstlight-agent/boot.tar', '', d)}"
