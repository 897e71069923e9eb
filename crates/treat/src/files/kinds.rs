//! Every kind of treatment, for a list.

/// A kind of treatment, for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreatmentKind {
    /// How it is written: `cmdline+=WORD`.
    pub form: &'static str,
    /// One that can be used as it stands.
    pub example: &'static str,
    /// What it does.
    pub what: &'static str,
    /// What it works on.
    pub targets: &'static [&'static str],
    /// What it costs.
    pub risk: &'static str,
    /// What must be done by hand for it to take effect; empty: nothing.
    pub then: &'static str,
    /// Whether the lab and `tune` take it.
    pub in_lab: bool,
}

const CMDLINE: &[&str] = &[
    "root tree",
    "/boot/cmdline.txt",
    "/etc/default/grub",
    "/etc/kernel/cmdline",
    "extlinux.conf",
    "loader/entries/*.conf",
    "unified kernel image",
    "U-Boot environment with `bootargs`",
];

/// Every kind of treatment there is.
pub const KINDS: &[TreatmentKind] = &[
    TreatmentKind {
        form: "cmdline+=PARAMETER",
        example: "cmdline+=quiet",
        what: "adds a kernel parameter to the kernel command line",
        targets: CMDLINE,
        risk: "depends on the parameter; see the finding that recommends it",
        then: "run `update-grub` if /etc/default/grub was changed; run `kernel-install` if \
            /etc/kernel/cmdline was changed",
        in_lab: true,
    },
    TreatmentKind {
        form: "cmdline-=PARAMETER",
        example: "cmdline-=initcall_debug",
        what: "removes a kernel parameter from the kernel command line",
        targets: CMDLINE,
        risk: "the effect of the parameter is lost",
        then: "run `update-grub` if /etc/default/grub was changed; run `kernel-install` if \
            /etc/kernel/cmdline was changed",
        in_lab: true,
    },
    TreatmentKind {
        form: "mask=UNIT",
        example: "mask=e2scrub_reap.service",
        what: "keeps systemd from starting a unit",
        targets: &["root tree"],
        risk: "the function of the unit is lost, and units that require it fail",
        then: "",
        in_lab: true,
    },
    TreatmentKind {
        form: "journald=volatile",
        example: "journald=volatile",
        what: "keeps the systemd journal in memory with a drop-in",
        targets: &["root tree"],
        risk: "log messages are lost at power-off and reboot",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "firmware=NAME=VALUE",
        example: "firmware=boot_delay=0",
        what: "sets an option in the config.txt of a Raspberry Pi, for every board that the card \
            boots",
        targets: &["root tree", "boot partition", "config.txt"],
        risk: "depends on the option; a wrong one can keep the board from booting",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "fstab=FOLDER:+OPTION | :-OPTION | :pass=N",
        example: "fstab=/:+noatime",
        what: "changes the mount options or fsck pass of a file system",
        targets: &["root tree", "/etc/fstab"],
        risk: "the protection that the option or check gave is lost",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "menu-timeout=SECONDS",
        example: "menu-timeout=0",
        what: "sets the timeout of a boot menu",
        targets: &[
            "root tree",
            "/etc/default/grub",
            "extlinux.conf",
            "loader.conf",
        ],
        risk: "with a timeout of 0, other entries can be chosen only by holding a key down",
        then: "run `update-grub` if /etc/default/grub was changed",
        in_lab: false,
    },
    TreatmentKind {
        form: "config=CONFIG_NAME=VALUE",
        example: "config=CONFIG_RAID6_PQ_BENCHMARK=n",
        what: "sets an option in a kernel configuration or in a configuration fragment",
        targets: &[".config", "*.cfg", "defconfig"],
        risk: "depends on the option; the kernel must be rebuilt",
        then: "run `make olddefconfig` and rebuild the kernel",
        in_lab: false,
    },
    TreatmentKind {
        form: "env=NAME=VALUE",
        example: "env=bootdelay=0",
        what: "sets a variable in a U-Boot environment and updates the checksum",
        targets: &["U-Boot environment image", "boot partition with uboot.env"],
        risk: "a wrong value can keep the board from booting",
        then: "write the image to the board",
        in_lab: true,
    },
    TreatmentKind {
        form: "env-=NAME",
        example: "env-=preboot",
        what: "removes a variable from a U-Boot environment and updates the checksum",
        targets: &["U-Boot environment image", "boot partition with uboot.env"],
        risk: "a missing variable can keep the board from booting",
        then: "write the image to the board",
        in_lab: true,
    },
    TreatmentKind {
        form: "initramfs=METHOD",
        example: "initramfs=lz4",
        what: "recompresses an initramfs: none, gzip, xz, lzma, bzip2, lzo, lz4 or zstd",
        targets: &["initramfs image"],
        risk: "the kernel must support the compression (`CONFIG_RD_LZ4=y` for lz4)",
        then: "",
        in_lab: true,
    },
    TreatmentKind {
        form: "initramfs-modules=most|dep|list",
        example: "initramfs-modules=dep",
        what: "sets which modules Debian includes in the initramfs",
        targets: &["root tree", "initramfs.conf"],
        risk: "with `dep`, the disk boots only on machines with the same hardware",
        then: "run `update-initramfs -u`",
        in_lab: false,
    },
    TreatmentKind {
        form: "jffs2=summaries",
        example: "jffs2=summaries",
        what: "rewrites a JFFS2 image with a summary in each full erase block",
        targets: &["JFFS2 image"],
        risk: "the image grows by a few percent; only kernels with CONFIG_JFFS2_SUMMARY use the \
            summaries",
        then: "write the image to the board",
        in_lab: false,
    },
    TreatmentKind {
        form: "ubi-skip-check=VOLUME",
        example: "ubi-skip-check=rootfs",
        what: "lets the kernel open a static UBI volume without checking its data first",
        targets: &["UBI image"],
        risk: "a damaged or half-written volume is noticed only when its data is read",
        then: "write the image to the board",
        in_lab: false,
    },
    TreatmentKind {
        form: "uimage-load=ADDRESS",
        example: "uimage-load=0x80007fc0",
        what: "sets the load address of a legacy image (uImage) to where U-Boot loads the file, \
            so that the kernel is not copied",
        targets: &["uImage"],
        risk: "the kernel must be able to run at this address; a zImage can in the first 128 MiB \
            of memory",
        then: "in U-Boot, load the file to this address and start it with `bootm`",
        in_lab: false,
    },
    TreatmentKind {
        form: "dtb-bootdelay=SECONDS",
        example: "dtb-bootdelay=-2",
        what: "sets /config/bootdelay in U-Boot's own device tree, which overrides the variable",
        targets: &["device tree with /config/bootdelay"],
        risk: "with 0, only a key already pressed stops the boot; with -2, nothing does",
        then: "write the device tree to where U-Boot loads it from",
        in_lab: false,
    },
    TreatmentKind {
        form: "strip=PATH",
        example: "strip=usr/bin",
        what: "strips symbols and debug information from a program or from all programs in a \
            folder",
        targets: &["root tree"],
        risk: "debuggers, profilers and core dumps no longer show function names",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "strip-headers=PATH",
        example: "strip-headers=usr/bin",
        what: "removes from a program, or from all programs in a folder, what no segment has: the \
            section headers, and with them symbols and debug information",
        targets: &["root tree"],
        risk: "nothing can be linked with such a library, debuggers and profilers see nothing, and \
            a program that reads its own sections fails",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "library-=PATH",
        example: "library-=usr/lib/libm.so.6",
        what: "removes a shared library and its links if no file in the tree refers to it",
        targets: &["root tree"],
        risk: "a program that builds the library's name at run time does not find it; the package \
            manager reports the file as missing",
        then: "run `ldconfig` if the root has an ld.so.cache",
        in_lab: false,
    },
    TreatmentKind {
        form: "library-cut=PATH[,ARCHIVE]",
        example: "library-cut=usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
        what: "links a shared library anew, as mklibs does, with only the symbols that files of the \
            tree name, from an archive of its object files (Debian: libstdc++-12-pic)",
        targets: &["root tree"],
        risk: "a program that is installed later may miss symbols; so may one that builds a \
            symbol's name at run time",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "ext=no-journal|extents|dir-index|inline-data|clean",
        example: "ext=no-journal",
        what: "changes an ext2, ext3 or ext4 image with tune2fs and e2fsck: removes the journal, maps \
            files by extents, indexes directories, moves small files into their inodes, or \
            replays the journal and repairs it",
        targets: &["ext image of at most 1 GiB"],
        risk: "without a journal, a power cut can need a long check or lose files; with extents, \
            drivers of ext2 and ext3 cannot mount it; many boot loaders cannot read inline data",
        then: "write the image to the board",
        in_lab: false,
    },
    TreatmentKind {
        form: "io-scheduler=DEVICE:NAME",
        example: "io-scheduler=mmcblk0:none",
        what: "sets the I/O scheduler of a block device with a udev rule",
        targets: &["root tree"],
        risk: "the scheduler that the kernel chooses may be fairer to programs that run beside others",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "read-ahead=DEVICE:KIB",
        example: "read-ahead=mmcblk0:512",
        what: "sets how much of a block device is read ahead, with a udev rule",
        targets: &["root tree"],
        risk: "memory for data that is read and not used; scattered reads become slower; what is \
            read before udev knows the device is read as before",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "sysctl=NAME=VALUE",
        example: "sysctl=vm.dirty_bytes=524288",
        what: "sets a kernel setting at the start: in a file of its own in /etc/sysctl.d, or in \
            /etc/sysctl.conf if the root has no such folder or that file sets it already",
        targets: &["root tree"],
        risk: "depends on the setting; with little dirty memory, programs that write wait for the \
            device more often",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "late-modules=NAME,...",
        example: "late-modules=btusb",
        what: "keeps kernel modules from loading by themselves, and loads them after \
            multi-user.target",
        targets: &["root tree"],
        risk: "what needs the module works only later; loading it takes time from the application",
        then: "run `update-initramfs -u` if the initramfs loads the modules",
        in_lab: false,
    },
    TreatmentKind {
        form: "cat-pipes=PATH",
        example: "cat-pipes=etc/init.d",
        what: "rewrites `cat FILE | grep ...` in shell scripts to `grep ... <FILE`, which starts one \
            program less",
        targets: &["root tree"],
        risk: "the exit status of a missing file is that of the second program",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "start-script=one",
        example: "start-script=one",
        what: "puts the scripts /etc/init.d/S?? into /etc/init.d/rcS, so that one shell runs them all",
        targets: &["root tree"],
        risk: "a changed or added S?? script has no effect until the treatment is undone and applied \
            again",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "kernel=uncompressed",
        example: "kernel=uncompressed",
        what: "boots an uncompressed kernel",
        targets: &["lab"],
        risk: "the image is two to eight times as large, which costs storage and load time",
        then: "on a board, build the kernel without compression",
        in_lab: true,
    },
    TreatmentKind {
        form: "ubi-fastmap=on",
        example: "ubi-fastmap=on",
        what: "lets UBI keep a fastmap: adds `ubi.fm_autoconvert=1`, and sets the fifth field of \
            each `ubi.mtd=`",
        targets: CMDLINE,
        risk: "a few erase blocks; needs CONFIG_MTD_UBI_FASTMAP; a kernel without the fifth field \
            of `ubi.mtd=` does not attach the device",
        then: "boot once and shut down cleanly: the next boot uses the fastmap",
        in_lab: true,
    },
    TreatmentKind {
        form: "modules=unsigned",
        example: "modules=unsigned",
        what: "removes the signatures of the modules in the initramfs",
        targets: &["lab"],
        risk: "tampered modules are loaded too, and the kernel marks itself tainted; where \
            signatures are enforced (Secure Boot, `module.sig_enforce`), no module is loaded and \
            the root device is not found",
        then: "on Debian, add an initramfs-tools hook that runs `strip --strip-debug` on each \
            module in $DESTDIR",
        in_lab: true,
    },
];
