{
  description = "Capture, explain and shorten the boot of a Linux system";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      forAll = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
      # The checkout that this flake lies in: `nix build 'git+file:.?dir=packaging/nix'`.
      source = ../..;
      version = (builtins.fromTOML (builtins.readFile "${source}/Cargo.toml")).workspace.package.version;
    in
    {
      packages = forAll (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "firstlight";
          inherit version;
          src = source;
          cargoLock.lockFile = "${source}/Cargo.lock";
          cargoBuildFlags = [ "--package" "firstlight" "--package" "firstlight-agent" ];
          # The tests boot machines: run `./x test` in a checkout instead.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles pkgs.makeWrapper ];
          postInstall = ''
            mkdir -p $out/lib/firstlight
            mv $out/bin/firstlight-agent \
              $out/lib/firstlight/firstlight-agent-${pkgs.stdenv.hostPlatform.uname.processor}
            $out/bin/firstlight man > firstlight.1
            installManPage firstlight.1
            for shell in bash zsh fish; do
              $out/bin/firstlight completions $shell > firstlight.$shell
            done
            installShellCompletion firstlight.bash firstlight.zsh firstlight.fish
            wrapProgram $out/bin/firstlight --suffix PATH : \
              ${pkgs.lib.makeBinPath [ pkgs.qemu pkgs.e2fsprogs pkgs.kmod pkgs.xz pkgs.zstd ]} \
              --set-default FIRSTLIGHT_AGENT $out/lib/firstlight
          '';
          meta = {
            description = "Capture, explain and shorten the boot of a Linux system";
            homepage = "https://github.com/firstlight-boot/firstlight";
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "firstlight";
            platforms = systems;
          };
        };
      });

      devShells = forAll (pkgs: {
        default = pkgs.mkShell {
          inputsFrom = [ self.packages.${pkgs.stdenv.hostPlatform.system}.default ];
        };
      });
    };
}
