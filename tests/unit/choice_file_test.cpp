// What is kept of measured choices: for whom it is, and whom it is not believed from.
#include "libcoll/select/choice_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace libcoll::choice_file_test {

using namespace select;

namespace {

class ChoiceFile : public testing::Test {
 protected:
  ChoiceFile() : directory_(mkdtemp(name_.data())) {
    place_ = {directory_.string(), "0123abcd", 8, 4, "ucx", "Open_MPI_v4.1.4"};
  }
  ~ChoiceFile() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path only_file() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) files.push_back(entry.path());
    EXPECT_EQ(files.size(), 1U);
    return files.front();
  }

  // In the order in which they are made.
  std::string name_ = (std::filesystem::temp_directory_path() / "libcoll-choice-XXXXXX").string();
  std::filesystem::path directory_;
  ChoicePlace place_;
  TuningTable table_{{{CallKind::allreduce, 8, 64, true, 0}, {CallKind::allreduce, 8, 1024, false, 0, true}},
                     LinkFigures{1500, 2'000'000'000}};
};

TEST_F(ChoiceFile, IsReadBack) {
  ASSERT_TRUE(load_choices(place_).ok());
  EXPECT_FALSE(load_choices(place_)->has_value());
  ASSERT_TRUE(store_choices(place_, table_).ok());
  EXPECT_EQ(load_choices(place_).value(), table_);
}

/// Another topology, communicator, transport or MPI has its own.
TEST_F(ChoiceFile, IsForOneShapeOfJob) {
  ASSERT_TRUE(store_choices(place_, table_).ok());
  std::vector<ChoicePlace> others(5, place_);
  others[0].topology = "4567";
  others[1].ranks = 16;
  others[2].nodes = 8;
  others[3].transport = "ofi";
  others[4].mpi = "MPICH_Version_4.0.2";
  for (const ChoicePlace& other : others) EXPECT_FALSE(load_choices(other)->has_value());
}

TEST_F(ChoiceFile, AreListedByJobShape) {
  EXPECT_TRUE(kept_choices(directory_.string() + "/none", place_.topology).empty());
  ChoicePlace more = place_;
  more.ranks = 16;
  more.transport = "ofi tcp;ofi_rxm";
  ChoicePlace elsewhere = place_;
  elsewhere.topology = "4567";
  for (const ChoicePlace& place : {more, place_, elsewhere}) ASSERT_TRUE(store_choices(place, table_).ok());
  std::ofstream(directory_ / "choices-0123abcd-8-four-ucx-MPICH.toml") << "";
  std::ofstream(directory_ / "choices-0123abcd-8-4-ucx.toml") << "";  // as until 0.12.0
  std::ofstream(directory_ / "choices-0123abcd-8.toml") << "";
  const std::vector<ChoicePlace> found = kept_choices(directory_.string(), place_.topology);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].ranks, 8);
  EXPECT_EQ(found[0].nodes, 4);
  EXPECT_EQ(found[0].transport, "ucx");
  EXPECT_EQ(found[0].mpi, "Open_MPI_v4.1.4");
  EXPECT_EQ(found[1].transport, more.transport);
  for (const ChoicePlace& place : found) EXPECT_EQ(load_choices(place).value(), table_);
}

TEST_F(ChoiceFile, WhatCannotBeReadOrTrustedIsAnError) {
  ASSERT_TRUE(store_choices(place_, table_).ok());
  const std::filesystem::path file = only_file();
  std::ofstream(file) << "[[choice";
  EXPECT_FALSE(load_choices(place_).ok());
  ASSERT_TRUE(store_choices(place_, table_).ok());
  std::filesystem::permissions(file, std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  EXPECT_NE(load_choices(place_).error().message.find("may be written by everybody"), std::string::npos);
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/etc/passwd", file);
  EXPECT_NE(load_choices(place_).error().message.find("is a symbolic link"), std::string::npos);
  std::filesystem::remove(file);
  std::filesystem::permissions(place_.directory, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  EXPECT_FALSE(load_choices(place_).ok());
  EXPECT_FALSE(store_choices(place_, table_).ok());
}

}  // namespace
}  // namespace libcoll::choice_file_test
