// What the cost model starts from, measured on the job's own processes and agreed on by all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "libcoll/base/agreement.h"
#include "libcoll/select/cost_model.h"

namespace libcoll::select {

/// Something that all ranks do together, of so many bytes and so often in a row. False when it failed.
using Measurable = std::function<bool(std::int64_t bytes, int times)>;
using Nanoseconds = std::int64_t (*)() noexcept;

/// Collective; the same on all ranks. α is what an exchange of 8 bytes takes on the slowest rank, b what a longer one
/// takes beyond that: the least of some tries each, for other things on the machine only ever add time, without the
/// first ones, in which links may let more through than they can go on with. About 60 ms together on links of 50
/// Mbit/s, less on faster ones. Nothing when one failed.
std::optional<LinkFigures> find_link_figures(Agreement& group, const Measurable& exchange, Nanoseconds now);

/// A way that calls can go, and up to how many bytes. False when the call failed.
struct SampledWay {
  std::function<bool(std::int64_t bytes)> call;
  std::int64_t largest_bytes = 0;
};

/// Collective; the same on all ranks. What calls take by each way: of `first_bytes` bytes, of 512, of 2048 and twofold
/// on from there, fourfold from 32 KB. Of no way a further size is begun that might not end before calls by it have
/// taken `budget_nanoseconds`, without the very first one, which makes connections. All ranks leave a barrier before
/// each call, as in benchmarks, and calls of a size and way follow each other, as a program makes them: a call finds
/// links as the one before it has left them. The figure is the mean over the ranks of what each one's calls take.
/// Nothing when one failed.
std::optional<std::vector<std::vector<CostSample>>> sample_calls(Agreement& group, std::span<const SampledWay> ways,
                                                                 std::int64_t first_bytes,
                                                                 std::int64_t budget_nanoseconds, Nanoseconds now);

}  // namespace libcoll::select
