#include "libcoll/node/stages.h"

namespace libcoll {
namespace {

/// What a process has done in a round, in this order.
enum Phase : std::uint32_t { copied_in = 1, domain_reduced, node_reduced, moved };
static_assert(moved < phases_per_round);

}  // namespace

void list_stages(const RoundOutline& outline, std::uint32_t round, std::vector<Stage>& stages) {
  const std::uint32_t base = round * phases_per_round;
  Awaited all{outline.locals, base + copied_in};
  stages.clear();
  stages.push_back({{}, Work::copy_in, base + copied_in});
  if (outline.reduces) {
    if (outline.has_domains) {
      stages.push_back({all, Work::reduce_domain, base + domain_reduced});
      all.phase = base + domain_reduced;
    }
    stages.push_back({all, Work::reduce_node, base + node_reduced});
    all.phase = base + node_reduced;
  }
  if (outline.local < outline.leaders) {
    const bool at_once = outline.reduces && outline.leaders_move_own;
    stages.push_back({at_once ? Awaited{} : all, Work::move, base + moved});
  }
  stages.push_back({outline.leaders > 0 ? Awaited{outline.leaders, base + moved} : all, Work::copy_out, 0});
}

}  // namespace libcoll
