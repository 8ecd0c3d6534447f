# One table of benchmarks/main_job.sh: times by size of both ways, what was chosen and why; words on every row where
# libcoll is slower than 0.95 times native. Files, each named by what it holds:
#   kind=native, kind=libcoll   what collective_sweep wrote, one file a run
#   kind=choices                SIZE, use, algorithm, chosen by (tabs between), from the statistics
#   kind=measured               SIZE, way, microseconds: what the cost model saw, from the log
# Variables: slow_rows, the file that the number of such rows is added to.

function median_of(list,    values, n, i, j, swap) {
  n = split(list, values, " ")
  for (i = 2; i <= n; ++i) {
    for (j = i; j > 1 && values[j - 1] + 0 > values[j] + 0; --j) { swap = values[j]; values[j] = values[j - 1]; values[j - 1] = swap }
  }
  least = values[1] + 0
  most = values[n] + 0
  return n % 2 == 1 ? values[(n + 1) / 2] + 0 : (values[n / 2] + values[n / 2 + 1]) / 2
}

# As the model does: straight lines between the sizes that it tried; -1 beyond the last.
function measured_at(way, size,    i, last) {
  for (i = 1; i <= tried[way]; ++i) {
    if (tried_size[way, i] < size) continue
    if (i == 1 || tried_size[way, i] == size) return tried_time[way, i]
    last = i - 1
    return tried_time[way, last] + (size - tried_size[way, last]) / (tried_size[way, i] - tried_size[way, last]) * \
      (tried_time[way, i] - tried_time[way, last])
  }
  return -1
}

# "native 700, plan 1047": what the model knew of this size.
function model_words(size,    text, i, ways, n) {
  n = split("native direct scattered plan", ways, " ")
  for (i = 1; i <= n; ++i) {
    if (measured_at(ways[i], size) >= 0) text = text (text == "" ? "" : ", ") sprintf("%s %.0f", ways[i], measured_at(ways[i], size))
  }
  return text
}

function why_words(size,    by) {
  by = chosen_by[size]
  if (by == "cost model" || by == "the cost model leaves it to MPI at this size") {
    if (samples == 0) return "size and ranks: the order of a sum never follows a measurement"
    if (measured_at(use[size], size) < 0) return "cost model: above what it tried"
    return "cost model: " model_words(size)
  }
  if (by == "LIBCOLL_PLANLESS_MAX") return "short: LIBCOLL_PLANLESS_MAX"
  return by == "configuration" ? "the default: nothing else was said" : by
}

function slow_words(size, native, libcoll,    text, expected_native, expected_own) {
  text = native_most >= libcoll_least ? "the runs overlap" : "the runs do not overlap"
  text = text sprintf(" (native %.1f..%.1f, libcoll %.1f..%.1f)", native_least, native_most, libcoll_least, libcoll_most)
  if (use[size] == "native") return text "; these calls are native MPI's both times"
  expected_native = measured_at("native", size)
  expected_own = measured_at(use[size], size)
  if (chosen_by[size] == "cost model" && samples == 0) return text "; chosen by size and ranks alone, as the order of a sum is"
  if (chosen_by[size] == "cost model" && expected_own < 0) return text "; chosen by the links' figures, above what was tried"
  if (chosen_by[size] == "cost model" && expected_own > expected_native) {
    return text sprintf("; measured %.0f to native's %.0f, which the model takes for equal (up to 1/20 more)", expected_own, expected_native)
  }
  if (chosen_by[size] == "cost model") {
    return text sprintf("; the model chose by %.0f to native's %.0f: its own measurement differs from these calls", expected_own, expected_native)
  }
  return text "; no measurement chose this way"
}

FNR == 1 { ++files[kind] }
kind == "native" || kind == "libcoll" {
  if ($0 ~ /^#/ || NF < 2) next
  if (!($1 in seen)) { seen[$1] = 1; sizes[++count] = $1 }
  times[kind, $1] = times[kind, $1] " " $2
}
kind == "choices" {
  split($0, field, "\t")
  use[field[1]] = field[2]
  algorithm[field[1]] = field[3]
  chosen_by[field[1]] = field[4]
}
kind == "measured" {
  ++samples
  ++tried[$2]
  tried_size[$2, tried[$2]] = $1 + 0
  tried_time[$2, tried[$2]] = $3 + 0
}
END {
  printf "%8s %11s %11s %7s  %-18s %s\n", "size", "native us", "libcoll us", "ratio", "way", "why (us)"
  plans_from = -1
  for (i = 1; i <= count; ++i) {
    size = sizes[i]
    native = median_of(times["native", size]); native_least = least; native_most = most
    libcoll = median_of(times["libcoll", size]); libcoll_least = least; libcoll_most = most
    way = use[size] == "native" ? "native MPI" : use[size] (algorithm[size] == "" ? "" : " " algorithm[size])
    printf "%8d %11.1f %11.1f %7.2f  %-18s %s\n", size, native, libcoll, native / libcoll, way, why_words(size)
    if (native < 0.95 * libcoll) {
      ++slow
      printf "%8s slower than 0.95 x native: %s\n", "", slow_words(size, native, libcoll)
    }
    if (use[size] != "plan") plans_from = -1
    else if (plans_from < 0) plans_from = size
  }
  printf plans_from < 0 ? "No plan at the largest size.\n" : "Plans take over at %d bytes.\n", plans_from
  print slow + 0 >> slow_rows
}
