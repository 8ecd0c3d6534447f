#include "libcoll/node/stages.h"

namespace libcoll::node {
namespace {

/// What a process has done in a round, in this order.
enum Phase : std::uint32_t { copied_in = 1, domain_reduced, node_reduced, moved, has_read };
static_assert(has_read < phases_per_round);

/// copy_in, three of a reduction or those of reading, move, copy_out
constexpr std::size_t most_stages = 6;

}  // namespace

void list_stages(const RoundOutline& outline, std::uint32_t round, std::vector<Stage>& stages) {
  const std::uint32_t base = round * phases_per_round;
  Awaited ready{outline.locals, base + copied_in};
  stages.clear();
  stages.reserve(most_stages);
  stages.push_back({{}, Work::copy_in, base + copied_in});
  if (outline.reduces && outline.reduces_alone) {
    if (outline.local == 0) stages.push_back({ready, Work::reduce_alone, base + node_reduced});
    ready = {1, base + node_reduced};
  } else if (outline.reduces) {
    if (outline.has_domains) {
      stages.push_back({ready, Work::reduce_domain, base + domain_reduced});
      ready.phase = base + domain_reduced;
    }
    if (!outline.adds_up_own) {
      stages.push_back({ready, Work::reduce_node, base + node_reduced});
      ready.phase = base + node_reduced;
    }
  }
  if (outline.local < outline.leaders) {
    const bool at_once = outline.reduces && outline.leaders_move_own;
    stages.push_back({at_once ? Awaited{} : ready, Work::move, base + moved});
  }
  if (outline.copies_own_sum) stages.push_back({{}, Work::copy_own_sum, 0});
  // Leaders first send what takes longer.
  if (outline.reads_neighbours) {
    stages.push_back({{outline.locals, base + copied_in}, Work::read_neighbours, base + has_read});
  }
  stages.push_back({outline.leaders > 0 ? Awaited{outline.leaders, base + moved} : ready, Work::copy_out, 0});
  // A later round begins when all have gone through this one.
  if (outline.reads_neighbours && outline.is_last) {
    stages.push_back({{outline.locals, base + has_read}, Work::end, 0});
  }
}

}  // namespace libcoll::node
