//! What the lab tells the agent in the initramfs.
