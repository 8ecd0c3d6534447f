#include "libcoll/base/agreement.h"

#include <algorithm>
#include <vector>

namespace libcoll {

bool Agreement::barrier() {
  const char here = 1;
  std::vector<char> all(static_cast<std::size_t>(size()));
  return allgather(&here, 1, all.data());
}

bool all_agree(Agreement& ranks, bool mine) {
  const char vote = mine ? 1 : 0;
  std::vector<char> votes(static_cast<std::size_t>(ranks.size()));
  if (!ranks.allgather(&vote, 1, votes.data())) return false;
  return std::all_of(votes.begin(), votes.end(), [](char each) { return each != 0; });
}

}  // namespace libcoll
