# What the FFTs of benchmarks/ say that does not vary from run to run.
/^# (Grid|Checksum)/ { print }
