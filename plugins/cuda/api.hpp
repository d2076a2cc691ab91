// The CUDA driver, found at run time, as ../common/gpu_table.cpp wants it.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <laneway/device.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

#include "failure.hpp"
#include "node.hpp"

namespace laneway::gpu::api {

inline constexpr const char* vendor = "nvidia";
inline constexpr bool has_stream_values = true;
inline constexpr int most_devices = 64;

// The header renames functions to their newest versions, and so do these names, and the texts made of them.
// clang-format off
#define LANEWAY_CUDA_FUNCTIONS(F)                                                                                  \
  F(cuInit)                                                                                                        \
  F(cuGetErrorString) F(cuDeviceGetCount) F(cuDeviceGetName) F(cuDeviceGetUuid) F(cuDeviceTotalMem)                \
      F(cuDeviceGetAttribute) F(cuDevicePrimaryCtxRetain) F(cuCtxGetCurrent) F(cuCtxGetDevice) F(cuCtxPushCurrent) \
          F(cuCtxPopCurrent) F(cuCtxGetStreamPriorityRange) F(cuDeviceCanAccessPeer) F(cuCtxEnablePeerAccess)      \
              F(cuPointerGetAttributes) F(cuMemAlloc) F(cuMemFree) F(cuMemAllocManaged) F(cuMemHostAlloc)          \
                  F(cuMemFreeHost) F(cuMemHostRegister) F(cuMemHostUnregister) F(cuStreamCreateWithPriority)       \
                      F(cuStreamDestroy) F(cuStreamSynchronize) F(cuStreamQuery) F(cuStreamIsCapturing)            \
                          F(cuStreamGetCtx) F(cuEventCreate) F(cuEventDestroy) F(cuEventRecord) F(cuEventQuery)    \
                              F(cuEventSynchronize) F(cuStreamWaitEvent) F(cuLaunchHostFunc) F(cuMemcpyAsync)      \
                                  F(cuMemcpy2DAsync) F(cuMemsetD8Async) F(cuModuleLoadData) F(cuModuleGetFunction) \
                                      F(cuLaunchKernel) F(cuIpcGetMemHandle) F(cuIpcOpenMemHandle)                 \
                                          F(cuIpcCloseMemHandle) F(cuIpcGetEventHandle) F(cuIpcOpenEventHandle)    \
                                              F(cuStreamWriteValue64) F(cuStreamWaitValue64)
// clang-format on
#define LANEWAY_NAME(name) #name

struct Driver {
#define LANEWAY_MEMBER(name) decltype(&::name) name = nullptr;
  LANEWAY_CUDA_FUNCTIONS(LANEWAY_MEMBER)
#undef LANEWAY_MEMBER
  CUresult (*event_elapsed_time)(float*, CUevent, CUevent) = nullptr;
  std::string missing;  ///< why the driver cannot be used

  Driver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      missing = "there is no CUDA driver (libcuda.so.1)";
      return;
    }
    const auto find = [&](const char* name) {
      void* const found = dlsym(library, name);
      if (found == nullptr && missing.empty()) missing = std::string("the CUDA driver is too old: it has no ") + name;
      return found;
    };
#define LANEWAY_FIND(name) this->name = reinterpret_cast<decltype(&::name)>(find(LANEWAY_NAME(name)));
    LANEWAY_CUDA_FUNCTIONS(LANEWAY_FIND)
#undef LANEWAY_FIND
    // Its second version, which the header names, is of CUDA 12.8.
    event_elapsed_time = reinterpret_cast<CUresult (*)(float*, CUevent, CUevent)>(find("cuEventElapsedTime"));
  }
};

inline const Driver& driver() {
  static const Driver one;
  return one;
}

using Error = CUresult;
using Stream = CUstream;
using Event = CUevent;
using Module = CUmodule;
using Function = CUfunction;

inline int status_of(Error error) {
  switch (error) {
    case CUDA_SUCCESS:
      return LNW_DEVICE_OK;
    case CUDA_ERROR_NOT_READY:
      return LNW_DEVICE_NOT_READY;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_INVALID_DEVICE:
      return LNW_DEVICE_ABSENT;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
    case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED:
      return LNW_DEVICE_INVALID;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return LNW_DEVICE_OUT_OF_MEMORY;
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
    case CUDA_ERROR_ALREADY_MAPPED:
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
      return LNW_DEVICE_UNSUPPORTED;
    default:
      return LNW_DEVICE_FAILED;
  }
}

inline std::string text_of(Error error) {
  const char* text = nullptr;
  return driver().cuGetErrorString(error, &text) == CUDA_SUCCESS && text != nullptr ? text : "unknown error of CUDA";
}

inline CUdeviceptr address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

inline const char* missing() {
  return driver().missing.empty() ? nullptr : driver().missing.c_str();
}
inline Error start() {
  static const Error started = driver().cuInit(0);
  return started;
}
/// Before cuInit the driver knows of no memory, and says so.
inline bool may_have_memory() {
  return true;
}
inline Error count(int* count) {
  return driver().cuDeviceGetCount(count);
}

/// Makes a device's primary context, which CUDA's runtime uses, the calling thread's.
class Current {
 public:
  explicit Current(int device) {
    CUcontext context = nullptr;
    error_ = retain(device, &context);
    if (error_ == CUDA_SUCCESS) error_ = driver().cuCtxPushCurrent(context);
  }
  ~Current() {
    CUcontext context = nullptr;
    if (error_ == CUDA_SUCCESS) driver().cuCtxPopCurrent(&context);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  [[nodiscard]] Error error() const { return error_; }

  /// Retained once, for as long as the process lives.
  static Error retain(int device, CUcontext* context) {
    static std::array<std::atomic<CUcontext>, most_devices> contexts{};
    if (device < 0 || device >= most_devices) return CUDA_ERROR_INVALID_DEVICE;
    std::atomic<CUcontext>& known = contexts[static_cast<std::size_t>(device)];
    *context = known.load(std::memory_order_acquire);
    if (*context != nullptr) return CUDA_SUCCESS;
    const Error error = driver().cuDevicePrimaryCtxRetain(context, device);
    if (error == CUDA_SUCCESS) known.store(*context, std::memory_order_release);
    return error;
  }

 private:
  Error error_ = CUDA_SUCCESS;
};

inline Error current(int* device) {
  CUcontext context = nullptr;
  *device = 0;
  const Error error = driver().cuCtxGetCurrent(&context);
  return error != CUDA_SUCCESS || context == nullptr ? error : driver().cuCtxGetDevice(device);
}

inline int attribute(int device, CUdevice_attribute which, int otherwise = 0) {
  int value = otherwise;
  return driver().cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : otherwise;
}

inline Error describe(int device, lnw_device_info* info) {
  driver().cuDeviceGetName(info->name, sizeof info->name, device);
  CUuuid uuid{};
  if (const Error error = driver().cuDeviceGetUuid(&uuid, device); error != CUDA_SUCCESS) return error;
  std::memcpy(info->uuid, uuid.bytes, sizeof info->uuid);
  info->pci_domain = attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, -1);
  info->pci_bus = attribute(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, -1);
  info->pci_device = attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, -1);
  info->pci_function = 0;
  info->processors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info->copy_engines = attribute(device, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 1);
  if (attribute(device, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) != 0) info->features |= LNW_DEVICE_HAS_MANAGED;
  if (attribute(device, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) != 0) info->features |= LNW_DEVICE_HAS_IPC_MEMORY;
  if (attribute(device, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1) != 0) info->features |= LNW_DEVICE_HAS_IPC_EVENTS;
  if (attribute(device, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS) != 0)
    info->features |= LNW_DEVICE_HAS_STREAM_VALUES;
  std::size_t bytes = 0;
  const Error error = driver().cuDeviceTotalMem(&bytes, device);
  info->memory_bytes = bytes;
  return error;
}

/// How many warps run at a time.
inline int warps(int device) {
  return attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1) *
         attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1024) / 32;
}
inline int warp_threads(int) {
  return 32;
}

inline Error can_access(int* can, int device, int peer) {
  return driver().cuDeviceCanAccessPeer(can, device, peer);
}
/// The current device is the one that will have access.
inline Error enable_access(int peer) {
  CUcontext context = nullptr;
  if (const Error error = Current::retain(peer, &context); error != CUDA_SUCCESS) return error;
  const Error error = driver().cuCtxEnablePeerAccess(context, 0);
  return error == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ? CUDA_SUCCESS : error;
}

inline Error memory_at(const void* pointer, lnw_device_memory* memory) {
  unsigned type = 0;
  unsigned managed = 0;
  int device = -1;
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  unsigned long long id = 0;
  std::array<CUpointer_attribute, 6> asked = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_BUFFER_ID};
  std::array<void*, 6> answers = {&type, &managed, &device, &base, &bytes, &id};
  const Error error = driver().cuPointerGetAttributes(static_cast<unsigned>(asked.size()), asked.data(), answers.data(),
                                                      address(pointer));
  if (error == CUDA_ERROR_NOT_INITIALIZED || error == CUDA_ERROR_INVALID_VALUE || error == CUDA_ERROR_DEINITIALIZED)
    return CUDA_SUCCESS;
  if (error != CUDA_SUCCESS || (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_HOST)) return error;
  memory->kind = managed != 0                   ? LNW_MEMORY_MANAGED
                 : type == CU_MEMORYTYPE_DEVICE ? LNW_MEMORY_DEVICE
                                                : LNW_MEMORY_PINNED;
  memory->device = device;
  memory->base = reinterpret_cast<void*>(base);
  memory->bytes = bytes;
  memory->buffer_id = id;
  return CUDA_SUCCESS;
}

inline Error device_malloc(void** pointer, std::size_t bytes) {
  return driver().cuMemAlloc(reinterpret_cast<CUdeviceptr*>(pointer), bytes);
}
inline Error device_free(void* pointer) {
  return driver().cuMemFree(address(pointer));
}
inline Error managed_malloc(void** pointer, std::size_t bytes) {
  return driver().cuMemAllocManaged(reinterpret_cast<CUdeviceptr*>(pointer), bytes, CU_MEM_ATTACH_GLOBAL);
}
inline Error host_malloc(void** pointer, std::size_t bytes) {
  return driver().cuMemHostAlloc(pointer, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
}
inline Error host_free(void* pointer) {
  return driver().cuMemFreeHost(pointer);
}
inline Error host_register(int device, void* pointer, std::size_t bytes) {
  if (attribute(device, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) == 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  return driver().cuMemHostRegister(pointer, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
}
inline Error host_unregister(void* pointer) {
  return driver().cuMemHostUnregister(pointer);
}

inline Error stream_create(Stream* stream, bool urgent) {
  int least = 0;
  int greatest = 0;
  driver().cuCtxGetStreamPriorityRange(&least, &greatest);
  return driver().cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, urgent ? greatest : least);
}
inline Error stream_destroy(Stream stream) {
  return driver().cuStreamDestroy(stream);
}
inline Error stream_synchronize(Stream stream) {
  return driver().cuStreamSynchronize(stream);
}
inline Error stream_query(Stream stream) {
  return driver().cuStreamQuery(stream);
}
inline Error stream_is_capturing(Stream stream, bool* capturing) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const Error error = driver().cuStreamIsCapturing(stream, &status);
  *capturing = status != CU_STREAM_CAPTURE_STATUS_NONE;
  return error;
}
inline Error stream_device(Stream stream, int* device) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return current(device);
  CUcontext context = nullptr;
  if (const Error error = driver().cuStreamGetCtx(stream, &context); error != CUDA_SUCCESS) return error;
  if (const Error error = driver().cuCtxPushCurrent(context); error != CUDA_SUCCESS) return error;
  const Error error = driver().cuCtxGetDevice(device);
  driver().cuCtxPopCurrent(&context);
  return error;
}

inline Error event_create(Event* event, bool timed, bool shared) {
  unsigned flags = timed ? unsigned{CU_EVENT_DEFAULT} : unsigned{CU_EVENT_DISABLE_TIMING};
  if (shared) flags |= CU_EVENT_INTERPROCESS;
  return driver().cuEventCreate(event, flags);
}
inline Error event_destroy(Event event) {
  return driver().cuEventDestroy(event);
}
inline Error event_record(Event event, Stream stream) {
  return driver().cuEventRecord(event, stream);
}
inline Error stream_wait_event(Stream stream, Event event) {
  return driver().cuStreamWaitEvent(stream, event, 0);
}
inline Error event_query(Event event) {
  return driver().cuEventQuery(event);
}
inline Error event_synchronize(Event event) {
  return driver().cuEventSynchronize(event);
}
inline Error event_elapsed(float* milliseconds, Event begin, Event end) {
  return driver().event_elapsed_time(milliseconds, begin, end);
}
inline Error host_call(Stream stream, void (*function)(void*), void* argument) {
  return driver().cuLaunchHostFunc(stream, function, argument);
}

inline Error copy(Stream stream, void* to, const void* from, std::size_t bytes) {
  return driver().cuMemcpyAsync(address(to), address(from), bytes, stream);
}
inline Error copy_rows(Stream stream, const lnw_device_rows& rows) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = address(rows.from);
  copy.dstDevice = address(rows.to);
  copy.srcPitch = static_cast<std::size_t>(rows.from_stride);
  copy.dstPitch = static_cast<std::size_t>(rows.to_stride);
  copy.WidthInBytes = rows.bytes;
  copy.Height = rows.count;
  return driver().cuMemcpy2DAsync(&copy, stream);
}
inline Error fill(Stream stream, void* to, unsigned char value, std::size_t bytes) {
  return driver().cuMemsetD8Async(address(to), value, bytes, stream);
}

inline Error load_module(Module* module, const void* image) {
  return driver().cuModuleLoadData(module, image);
}
inline Error find_function(Function* function, Module module, const char* name) {
  return driver().cuModuleGetFunction(function, module, name);
}
inline Error launch(Function function, unsigned blocks, unsigned threads, Stream stream, void** arguments) {
  return driver().cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr);
}

inline Error ipc_memory_get(unsigned char (&handle)[64], void* base) {
  static_assert(sizeof(CUipcMemHandle) == sizeof handle);
  CUipcMemHandle made{};
  const Error error = driver().cuIpcGetMemHandle(&made, address(base));
  std::memcpy(handle, &made, sizeof handle);
  // What cannot be shared is an invalid value to the driver: memory of pools and of the virtual memory functions.
  return error == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_NOT_SUPPORTED : error;
}
inline Error ipc_memory_open(void** base, const unsigned char (&handle)[64]) {
  CUipcMemHandle given{};
  std::memcpy(&given, handle, sizeof handle);
  return driver().cuIpcOpenMemHandle(reinterpret_cast<CUdeviceptr*>(base), given, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}
inline Error ipc_memory_close(void* base) {
  return driver().cuIpcCloseMemHandle(address(base));
}
inline Error ipc_event_get(unsigned char (&handle)[64], Event event) {
  static_assert(sizeof(CUipcEventHandle) == sizeof handle);
  CUipcEventHandle made{};
  const Error error = driver().cuIpcGetEventHandle(&made, event);
  std::memcpy(handle, &made, sizeof handle);
  return error;
}
inline Error ipc_event_open(Event* event, const unsigned char (&handle)[64]) {
  CUipcEventHandle given{};
  std::memcpy(&given, handle, sizeof handle);
  return driver().cuIpcOpenEventHandle(event, given);
}

inline Error write_value(Stream stream, std::uint64_t* word, std::uint64_t value) {
  return driver().cuStreamWriteValue64(stream, address(word), value, CU_STREAM_WRITE_VALUE_DEFAULT);
}
inline Error wait_value(Stream stream, std::uint64_t* word, std::uint64_t value) {
  return driver().cuStreamWaitValue64(stream, address(word), value, CU_STREAM_WAIT_VALUE_GEQ);
}

/// False where the management library is missing.
[[nodiscard]] bool find_link(const lnw_device_info& a, const lnw_device_info& b, lnw_device_link* link);

}  // namespace laneway::gpu::api
