/// SMPI gives ranks their own globals at the same addresses ("mmap"), so at exit one object would be destroyed once for
/// each rank. Here nothing is.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) {
  return 0;
}
