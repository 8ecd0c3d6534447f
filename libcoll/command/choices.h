// What jobs on a topology chose by size, as they have kept it beside the plans, for `libcoll info --choices`.
#pragma once

#include <string>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/command/command.h"
#include "libcoll/select/choice_file.h"

namespace libcoll::command {

/// Of jobs of one shape.
struct KeptChoices {
  ChoicePlace place;
  TuningTable table;
};

/// All that can be read; warns of the rest.
std::vector<KeptChoices> find_choices(const Topology& topology, const Config& config);

Json choices_json(const Topology& topology, const std::vector<KeptChoices>& kept);
/// A table per job shape; a sentence when there is none.
std::string choices_text(const Topology& topology, const std::vector<KeptChoices>& kept);

}  // namespace libcoll::command
