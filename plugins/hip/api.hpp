// HIP's run-time library, found at run time, as ../common/gpu_table.cpp wants it.
#pragma once

#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <laneway/device.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "failure.hpp"
#include "node.hpp"

namespace laneway::gpu::api {

inline constexpr const char* vendor = "amd";
inline constexpr int most_devices = 64;
/// Streams wait for words in signal memory only, which has one word an allocation and cannot be shared: kernels wait.
inline constexpr bool has_stream_values = false;

// clang-format off
#define LANEWAY_HIP_FUNCTIONS(F)                                                                                       \
  F(hipInit)                                                                                                           \
  F(hipRuntimeGetVersion) F(hipGetErrorString) F(hipPeekAtLastError) F(hipGetLastError) F(hipGetDeviceCount)           \
      F(hipGetDevice) F(hipSetDevice) F(hipDeviceGetName) F(hipDeviceGetUuid) F(hipDeviceTotalMem)                     \
          F(hipDeviceGetAttribute) F(hipDeviceCanAccessPeer) F(hipDeviceEnablePeerAccess) F(hipPointerGetAttributes)   \
              F(hipPointerGetAttribute) F(hipMemGetAddressRange) F(hipFree) F(hipHostFree) F(hipHostRegister)          \
                  F(hipHostUnregister) F(hipHostGetDevicePointer) F(hipStreamCreateWithPriority)                       \
                      F(hipDeviceGetStreamPriorityRange) F(hipStreamDestroy) F(hipStreamSynchronize) F(hipStreamQuery) \
                          F(hipStreamIsCapturing) F(hipGetStreamDeviceId) F(hipEventCreateWithFlags)                   \
                              F(hipEventDestroy) F(hipEventRecord) F(hipEventQuery) F(hipEventSynchronize)             \
                                  F(hipEventElapsedTime) F(hipStreamWaitEvent) F(hipStreamAddCallback)                 \
                                      F(hipMemcpyAsync) F(hipMemcpy2DAsync) F(hipMemsetAsync) F(hipModuleLoadData)     \
                                          F(hipModuleGetFunction) F(hipModuleLaunchKernel) F(hipIpcGetMemHandle)       \
                                              F(hipIpcOpenMemHandle) F(hipIpcCloseMemHandle) F(hipIpcGetEventHandle)   \
                                                  F(hipIpcOpenEventHandle)
// clang-format on

inline constexpr std::array libraries = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};

struct Driver {
#define LANEWAY_MEMBER(name) decltype(&::name) name = nullptr;
  LANEWAY_HIP_FUNCTIONS(LANEWAY_MEMBER)
#undef LANEWAY_MEMBER
  // C++ overloads these.
  hipError_t (*hipMalloc)(void**, std::size_t) = nullptr;
  hipError_t (*hipMallocManaged)(void**, std::size_t, unsigned) = nullptr;
  hipError_t (*hipHostMalloc)(void**, std::size_t, unsigned) = nullptr;
  decltype(&::hipLaunchHostFunc) hipLaunchHostFunc = nullptr;  ///< some versions declare it only
  std::string missing;

  Driver() {
    void* library = nullptr;
    for (const char* const name : libraries)
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      missing = "there is no HIP library (libamdhip64.so)";
      return;
    }
    const auto find = [&](const char* name) {
      void* const found = dlsym(library, name);
      if (found == nullptr && missing.empty()) missing = std::string("the HIP library has no ") + name;
      return found;
    };
#define LANEWAY_FIND(name) this->name = reinterpret_cast<decltype(&::name)>(find(#name));
    LANEWAY_HIP_FUNCTIONS(LANEWAY_FIND)
#undef LANEWAY_FIND
    hipMalloc = reinterpret_cast<decltype(hipMalloc)>(find("hipMalloc"));
    hipMallocManaged = reinterpret_cast<decltype(hipMallocManaged)>(find("hipMallocManaged"));
    hipHostMalloc = reinterpret_cast<decltype(hipHostMalloc)>(find("hipHostMalloc"));
    hipLaunchHostFunc = reinterpret_cast<decltype(&::hipLaunchHostFunc)>(dlsym(library, "hipLaunchHostFunc"));
  }
};

/// Loads the library, which takes longer than programs without devices should wait: not before something is asked of a
/// device.
inline const Driver& driver() {
  static const Driver one;
  return one;
}

using Error = hipError_t;
using Stream = hipStream_t;
using Event = hipEvent_t;
using Module = hipModule_t;
using Function = hipFunction_t;

inline int status_of(Error error) {
  switch (error) {
    case hipSuccess:
      return LNW_DEVICE_OK;
    case hipErrorNotReady:
      return LNW_DEVICE_NOT_READY;
    case hipErrorNoDevice:
    case hipErrorInvalidDevice:
    case hipErrorNotInitialized:
    case hipErrorInsufficientDriver:
      return LNW_DEVICE_ABSENT;
    case hipErrorInvalidValue:
    case hipErrorInvalidHandle:
    case hipErrorInvalidContext:
    case hipErrorInvalidDevicePointer:
    case hipErrorHostMemoryAlreadyRegistered:
    case hipErrorHostMemoryNotRegistered:
      return LNW_DEVICE_INVALID;
    case hipErrorOutOfMemory:
      return LNW_DEVICE_OUT_OF_MEMORY;
    case hipErrorNotSupported:
    case hipErrorPeerAccessUnsupported:
    case hipErrorAlreadyMapped:
    case hipErrorStreamCaptureUnsupported:
      return LNW_DEVICE_UNSUPPORTED;
    default:
      return LNW_DEVICE_FAILED;
  }
}

inline std::string text_of(Error error) {
  return driver().hipGetErrorString(error);
}

/// The kernel's driver is looked at alone: the library is not loaded yet.
inline const char* missing() {
  static const bool has_driver = access("/dev/kfd", F_OK) == 0;
  return has_driver ? nullptr : "there is no AMD GPU driver (/dev/kfd)";
}
inline Error start() {
  if (!driver().missing.empty()) throw plugin::Failure(LNW_DEVICE_ABSENT, driver().missing);
  static const Error started = driver().hipInit(0);
  return started;
}
/// Whether anybody in this process has loaded the library: looking at an address would start it.
inline bool may_have_memory() {
  for (const char* const name : libraries)
    if (void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) {
      dlclose(library);
      return driver().missing.empty();
    }
  return false;
}
inline Error count(int* count) {
  return driver().hipGetDeviceCount(count);
}

/// Makes a device the calling thread's.
class Current {
 public:
  explicit Current(int device) {
    error_ = device < 0 || device >= most_devices ? hipErrorInvalidDevice : driver().hipGetDevice(&before_);
    if (error_ == hipSuccess && before_ != device) error_ = driver().hipSetDevice(device);
    changed_ = error_ == hipSuccess && before_ != device;
  }
  ~Current() {
    if (changed_) (void)driver().hipSetDevice(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  [[nodiscard]] Error error() const { return error_; }

 private:
  int before_ = 0;
  bool changed_ = false;
  Error error_ = hipSuccess;
};

inline Error current(int* device) {
  return driver().hipGetDevice(device);
}

inline int attribute(int device, hipDeviceAttribute_t which, int otherwise = 0) {
  int value = otherwise;
  return driver().hipDeviceGetAttribute(&value, which, device) == hipSuccess ? value : otherwise;
}

inline Error describe(int device, lnw_device_info* info) {
  (void)driver().hipDeviceGetName(info->name, sizeof info->name, device);
  hipUUID uuid{};
  if (const Error error = driver().hipDeviceGetUuid(&uuid, device); error != hipSuccess) return error;
  std::memcpy(info->uuid, uuid.bytes, sizeof info->uuid);
  info->pci_domain = attribute(device, hipDeviceAttributePciDomainID, -1);
  info->pci_bus = attribute(device, hipDeviceAttributePciBusId, -1);
  info->pci_device = attribute(device, hipDeviceAttributePciDeviceId, -1);
  info->pci_function = 0;
  info->processors = attribute(device, hipDeviceAttributeMultiprocessorCount);
  info->copy_engines = 1;
  info->features = LNW_DEVICE_HAS_IPC_MEMORY | LNW_DEVICE_HAS_IPC_EVENTS;
  if (attribute(device, hipDeviceAttributeConcurrentManagedAccess) != 0) info->features |= LNW_DEVICE_HAS_MANAGED;
  std::size_t bytes = 0;
  const Error error = driver().hipDeviceTotalMem(&bytes, device);
  info->memory_bytes = bytes;
  return error;
}

/// How many wavefronts run at a time.
inline int warps(int device) {
  return attribute(device, hipDeviceAttributeMultiprocessorCount, 1) *
         attribute(device, hipDeviceAttributeMaxThreadsPerMultiProcessor, 1024) /
         attribute(device, hipDeviceAttributeWarpSize, 64);
}
inline int warp_threads(int device) {
  return attribute(device, hipDeviceAttributeWarpSize, 64);
}

inline Error can_access(int* can, int device, int peer) {
  return driver().hipDeviceCanAccessPeer(can, device, peer);
}
inline Error enable_access(int peer) {
  const Error error = driver().hipDeviceEnablePeerAccess(peer, 0);
  return error == hipErrorPeerAccessAlreadyEnabled ? hipSuccess : error;
}

inline Error memory_at(const void* pointer, lnw_device_memory* memory) {
  // Asking for unknown memory is an error that a program's own hipGetLastError must not find.
  const bool clean = driver().hipPeekAtLastError() == hipSuccess;
  hipPointerAttribute_t found{};
  const Error error = driver().hipPointerGetAttributes(&found, pointer);
  if (error != hipSuccess) {
    if (clean) (void)driver().hipGetLastError();
    return error == hipErrorInvalidValue || error == hipErrorNotInitialized ? hipSuccess : error;
  }
  // Version 6 counts as CUDA does: 0 not known, 1 host, 2 device, 3 managed. Before it was 0 host, 1 device.
  static const bool counts_from_one = [] {
    int version = 0;
    return driver().hipRuntimeGetVersion(&version) == hipSuccess && version >= 60000000;
  }();
  const int type = static_cast<int>(found.memoryType) + (counts_from_one ? 0 : 1);
  if (type == 0) return hipSuccess;
  memory->kind = found.isManaged != 0 || type == 3 ? LNW_MEMORY_MANAGED
                 : type == 2                       ? LNW_MEMORY_DEVICE
                                                   : LNW_MEMORY_PINNED;
  memory->device = found.device;
  hipDeviceptr_t base = nullptr;
  std::size_t bytes = 0;
  auto* const address = const_cast<void*>(pointer);
  if (driver().hipMemGetAddressRange(&base, &bytes, address) == hipSuccess) {
    memory->base = base;
    memory->bytes = bytes;
  }
  unsigned id = 0;
  if (driver().hipPointerGetAttribute(&id, HIP_POINTER_ATTRIBUTE_BUFFER_ID, address) == hipSuccess)
    memory->buffer_id = id;
  if (clean) (void)driver().hipGetLastError();
  return hipSuccess;
}

inline Error device_malloc(void** pointer, std::size_t bytes) {
  return driver().hipMalloc(pointer, bytes);
}
inline Error device_free(void* pointer) {
  return driver().hipFree(pointer);
}
inline Error managed_malloc(void** pointer, std::size_t bytes) {
  return driver().hipMallocManaged(pointer, bytes, hipMemAttachGlobal);
}
inline Error host_malloc(void** pointer, std::size_t bytes) {
  return driver().hipHostMalloc(pointer, bytes, hipHostMallocPortable | hipHostMallocMapped | hipHostMallocCoherent);
}
inline Error host_free(void* pointer) {
  return driver().hipHostFree(pointer);
}
inline Error host_register(int, void* pointer, std::size_t bytes) {
  if (const Error error = driver().hipHostRegister(pointer, bytes, hipHostRegisterPortable | hipHostRegisterMapped);
      error != hipSuccess)
    return error;
  void* seen_by_device = nullptr;
  const Error error = driver().hipHostGetDevicePointer(&seen_by_device, pointer, 0);
  if (error == hipSuccess && seen_by_device == pointer) return hipSuccess;
  (void)driver().hipHostUnregister(pointer);
  return hipErrorNotSupported;
}
inline Error host_unregister(void* pointer) {
  return driver().hipHostUnregister(pointer);
}

inline Error stream_create(Stream* stream, bool urgent) {
  int least = 0;
  int greatest = 0;
  (void)driver().hipDeviceGetStreamPriorityRange(&least, &greatest);
  return driver().hipStreamCreateWithPriority(stream, hipStreamNonBlocking, urgent ? greatest : least);
}
inline Error stream_destroy(Stream stream) {
  return driver().hipStreamDestroy(stream);
}
inline Error stream_synchronize(Stream stream) {
  return driver().hipStreamSynchronize(stream);
}
inline Error stream_query(Stream stream) {
  return driver().hipStreamQuery(stream);
}
inline Error stream_is_capturing(Stream stream, bool* capturing) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  const Error error = driver().hipStreamIsCapturing(stream, &status);
  *capturing = status != hipStreamCaptureStatusNone;
  return error;
}
inline Error stream_device(Stream stream, int* device) {
  if (stream == nullptr) return current(device);
  const int found = driver().hipGetStreamDeviceId(stream);
  if (found < 0) return hipErrorInvalidHandle;
  *device = found;
  return hipSuccess;
}

inline Error event_create(Event* event, bool timed, bool shared) {
  unsigned flags = timed ? unsigned{hipEventDefault} : unsigned{hipEventDisableTiming};
  if (shared) flags |= hipEventInterprocess;
  return driver().hipEventCreateWithFlags(event, flags);
}
inline Error event_destroy(Event event) {
  return driver().hipEventDestroy(event);
}
inline Error event_record(Event event, Stream stream) {
  return driver().hipEventRecord(event, stream);
}
inline Error stream_wait_event(Stream stream, Event event) {
  return driver().hipStreamWaitEvent(stream, event, 0);
}
inline Error event_query(Event event) {
  return driver().hipEventQuery(event);
}
inline Error event_synchronize(Event event) {
  return driver().hipEventSynchronize(event);
}
inline Error event_elapsed(float* milliseconds, Event begin, Event end) {
  return driver().hipEventElapsedTime(milliseconds, begin, end);
}
inline Error host_call(Stream stream, void (*function)(void*), void* argument) {
  if (driver().hipLaunchHostFunc != nullptr) return driver().hipLaunchHostFunc(stream, function, argument);
  struct Call {
    void (*function)(void*);
    void* argument;
  };
  auto* const call = new Call{function, argument};
  const Error error = driver().hipStreamAddCallback(
      stream,
      [](hipStream_t, hipError_t, void* given) {
        const Call here = *static_cast<Call*>(given);
        delete static_cast<Call*>(given);
        here.function(here.argument);
      },
      call, 0);
  if (error != hipSuccess) delete call;
  return error;
}

inline Error copy(Stream stream, void* to, const void* from, std::size_t bytes) {
  return driver().hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, stream);
}
inline Error copy_rows(Stream stream, const lnw_device_rows& rows) {
  return driver().hipMemcpy2DAsync(rows.to, static_cast<std::size_t>(rows.to_stride), rows.from,
                                   static_cast<std::size_t>(rows.from_stride), rows.bytes, rows.count, hipMemcpyDefault,
                                   stream);
}
inline Error fill(Stream stream, void* to, unsigned char value, std::size_t bytes) {
  return driver().hipMemsetAsync(to, value, bytes, stream);
}

inline Error load_module(Module* module, const void* image) {
  return driver().hipModuleLoadData(module, image);
}
inline Error find_function(Function* function, Module module, const char* name) {
  return driver().hipModuleGetFunction(function, module, name);
}
inline Error launch(Function function, unsigned blocks, unsigned threads, Stream stream, void** arguments) {
  return driver().hipModuleLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr);
}

inline Error ipc_memory_get(unsigned char (&handle)[64], void* base) {
  static_assert(sizeof(hipIpcMemHandle_t) == sizeof handle);
  hipIpcMemHandle_t made{};
  const Error error = driver().hipIpcGetMemHandle(&made, base);
  std::memcpy(handle, &made, sizeof handle);
  return error == hipErrorInvalidValue ? hipErrorNotSupported : error;
}
inline Error ipc_memory_open(void** base, const unsigned char (&handle)[64]) {
  hipIpcMemHandle_t given{};
  std::memcpy(&given, handle, sizeof handle);
  return driver().hipIpcOpenMemHandle(base, given, hipIpcMemLazyEnablePeerAccess);
}
inline Error ipc_memory_close(void* base) {
  return driver().hipIpcCloseMemHandle(base);
}
inline Error ipc_event_get(unsigned char (&handle)[64], Event event) {
  static_assert(sizeof(hipIpcEventHandle_t) <= sizeof handle);
  hipIpcEventHandle_t made{};
  const Error error = driver().hipIpcGetEventHandle(&made, event);
  std::memcpy(handle, &made, sizeof made);
  return error;
}
inline Error ipc_event_open(Event* event, const unsigned char (&handle)[64]) {
  hipIpcEventHandle_t given{};
  std::memcpy(&given, handle, sizeof given);
  return driver().hipIpcOpenEventHandle(event, given);
}

inline Error write_value(Stream, std::uint64_t*, std::uint64_t) {
  return hipErrorNotSupported;
}
inline Error wait_value(Stream, std::uint64_t*, std::uint64_t) {
  return hipErrorNotSupported;
}

/// False where the management library is missing.
[[nodiscard]] bool find_link(const lnw_device_info& a, const lnw_device_info& b, lnw_device_link* link);

}  // namespace laneway::gpu::api
