// By what calls of jobs on a topology go, size by size, for `libcoll info --choices`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/command/command.h"
#include "libcoll/select/choice_file.h"
#include "libcoll/select/selection_table.h"

namespace libcoll::command {

/// Of jobs of one shape that have kept what they measured.
struct JobChoices {
  select::ChoicePlace place;
  std::optional<select::LinkFigures> links;
  select::SelectionTable selection;  ///< as such a job has it under these settings
};

/// All that can be read; warns of the rest.
std::vector<JobChoices> find_choices(const topology::Topology& topology, const Config& config);

Json choices_json(const topology::Topology& topology, const std::vector<JobChoices>& jobs);
/// A table per job shape; a sentence when there is none.
std::string choices_text(const topology::Topology& topology, const std::vector<JobChoices>& jobs);

}  // namespace libcoll::command
