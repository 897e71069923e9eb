//! Which treatments go with which machine.

use super::platform::{Loader, Platform};
use crate::arch::ArmArch;
use treat::{KernelForm, Treatment};

/// Whether a machine can do what a treatment wants; else a clause.
pub fn possible(treatment: &Treatment, platform: &Platform) -> Result<(), String> {
    let without_loader = match platform {
        Platform::Pc | Platform::Arm9 { nand: None } => true,
        Platform::Arm9 { nand: Some(_) } => false,
        Platform::ArmVirt { loader, .. } => *loader == Loader::None,
        Platform::Replay(_) => false,
        // A board's own commands do what they can with any treatment.
        Platform::Board(_) => return Ok(()),
    };
    match treatment {
        Treatment::Kernel(KernelForm::Uncompressed)
            if matches!(
                platform,
                Platform::ArmVirt {
                    arch: ArmArch::Arm64,
                    ..
                }
            ) =>
        {
            Err(format!(
                "`{treatment}` has no effect, because an arm64 kernel does not decompress itself; \
                 remove it"
            ))
        }
        Treatment::Prefetch(_)
        | Treatment::Order(_)
        | Treatment::Build(_)
        | Treatment::Kernel(KernelForm::Direct)
            if *platform != Platform::Pc =>
        {
            Err(format!(
                "`{treatment}` works only with the machine `pc`; remove it"
            ))
        }
        Treatment::UnsignedModules if matches!(platform, Platform::Arm9 { .. }) => Err(format!(
            "`{treatment}` has no effect, because `arm9` loads no modules; remove it"
        )),
        Treatment::SetVariable { name, .. } | Treatment::RemoveVariable(name)
            if name == "bootargs" =>
        {
            Err(format!(
                "`{treatment}`: `bootargs` is the kernel command line; change it with `cmdline+=` \
                 and `cmdline-=`"
            ))
        }
        Treatment::SetVariable { .. } | Treatment::RemoveVariable(_) if without_loader => {
            Err(format!(
                "`{treatment}` needs a boot loader: `machine = \"arm-virt\"`, \
                 `loader = \"u-boot\"`, or `arm9` with `loader = \"nand\"`"
            ))
        }
        _ => Ok(()),
    }
}
