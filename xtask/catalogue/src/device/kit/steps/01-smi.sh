# What the driver says of the device.
# limit: 60 s
nvidia-smi || exit
nvidia-smi -q
nvidia-smi topo -m || true # a driver may not know it
