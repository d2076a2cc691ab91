laneway_vendor(cuda NAME nvidia PEOPLE NVIDIA DRIVER libcuda.so QUEUE CUDA MEMORY_KIND cuda NCCL libnccl.so.2
  MPI_QUERIES MPIX_Query_cuda_support MPIX_GPU_SUPPORT_CUDA OPTION "Build the device plugin for NVIDIA: ON, OFF, or AUTO if there is nvcc")
