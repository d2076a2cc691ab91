laneway_vendor(simdevice NAME sim DRIVER liblaneway_simdevice.so QUEUE SIM)
