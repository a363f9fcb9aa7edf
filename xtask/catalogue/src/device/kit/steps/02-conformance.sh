# What this project believes of a driver, on the device. One that differs is a fact for the fake driver.
# limit: 90 s
exec "$BIN/device_conformance" --ignored --test-threads=1
