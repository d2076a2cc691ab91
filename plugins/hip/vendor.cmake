laneway_vendor(hip NAME amd PEOPLE AMD DRIVER libamdhip64.so QUEUE HIP MEMORY_KIND rocm NCCL librccl.so.1
  MPI_QUERIES MPIX_Query_rocm_support MPIX_Query_hip_support MPIX_GPU_SUPPORT_HIP
  OPTION "Build the device plugin for AMD: ON, OFF, or AUTO if there is hipcc")
