# Homebrew on Linux. `./x release` fills in version and checksum.
class Firstlight < Formula
  desc "Capture, explain and shorten the boot of a Linux system"
  homepage "https://github.com/firstlight-boot/firstlight"
  url "https://github.com/firstlight-boot/firstlight/releases/download/v@VERSION@/firstlight-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
  version "@VERSION@"
  sha256 "@SHA256_PROGRAM@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on arch: :x86_64
  depends_on :linux

  def install
    libexec.install "firstlight"
    libexec.install Dir["firstlight-agent-*"]
    bin.install_symlink libexec/"firstlight"
    man1.install "share/man/man1/firstlight.1.gz"
    generate_completions_from_executable(bin/"firstlight", "completions")
    doc.install Dir["share/doc/firstlight/*"]
  end

  test do
    (testpath/"dmesg.txt").write "[    0.000000] Linux version 6.1.0\n[    1.500000] Run /sbin/init as init process\n"
    assert_match "1.500 s", shell_output("#{bin}/firstlight show #{testpath}/dmesg.txt")
  end
end
