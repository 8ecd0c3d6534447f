# What hpcc found out about its own results (hpccoutf.txt), without figures that are free to vary.
/locations \(passed\)/ { passed++ }
/locations \(failed\)/ { failed++ }
/tests completed and passed residual checks/ { passed += $1 }
/tests completed and failed residual checks/ { failed += $1 }
/FAILED/ { failed++ }
/Solution Validates/ { stream = "valid" }
/^FFT_N=|^MPIFFT_N=/ { split($0, part, "="); n = part[2] }
/^MPIFFT_maxErr=/ { split($0, part, "="); fft = part[2] + 0 <= 16 * log(n) * 2.22e-16 ? "exact" : "wrong" }
/^Success=/ { success = $0 }
END { printf "%s, %d passed, %d failed, STREAM %s, MPIFFT %s\n", success, passed, failed, stream, fft }
