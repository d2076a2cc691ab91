// The compiled kernels, as part of the plugin.
asm(R"(
  .pushsection .rodata
  .balign 4096
  .globl laneway_kernels
  .hidden laneway_kernels
laneway_kernels:
  .incbin ")" LANEWAY_KERNELS R"("
  .popsection
)");
