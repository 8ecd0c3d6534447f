// What a host lacks of a route binding, on made-up hosts.
#include "libcoll/command/binding_devices.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace libcoll::command {

using namespace command;
using namespace schedule;

namespace {

namespace fs = std::filesystem;
using Faults = std::vector<std::string>;

/// A /sys with one InfiniBand port of LMC 2, "mlx5_0:1", one address at index 0 and none at 1, and a network device.
class BindingDevices : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "libcoll-sys-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    const fs::path port = root_ / "class/infiniband/mlx5_0/ports/1";
    fs::create_directories(port / "gids");
    std::ofstream(port / "lid_mask_count") << "2\n";
    std::ofstream(port / "gids/0") << "fe80:0000:0000:0000:0002:c903:0000:0001\n";
    std::ofstream(port / "gids/1") << "0000:0000:0000:0000:0000:0000:0000:0000\n";
    fs::create_directories(root_ / "class/net/eth0");
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] Faults faults(const std::string& keys) const {
    const auto binding = read_route_binding("[[class]]\nclass = 1\n" + keys, "binding");
    EXPECT_TRUE(binding.ok()) << binding.error().message;
    return missing_devices(*binding, root_);
  }

  fs::path root_;
};

TEST_F(BindingDevices, WhatIsThereIsNoFault) {
  EXPECT_EQ(faults("NET_DEVICES = \"mlx5_0:1\"\nIB_LID_PATH_BITS = \"0-3\"\nIB_GID_INDEX = 0\n"), Faults{});
  EXPECT_EQ(faults("NET_DEVICES = \"eth0\"\n"), Faults{});
  EXPECT_EQ(faults("NET_DEVICES = \"all\"\nIB_GID_INDEX = \"auto\"\n"), Faults{});
  EXPECT_EQ(faults("IB_SL = 1\n"), Faults{});
}

TEST_F(BindingDevices, DevicesThatAreNotThere) {
  EXPECT_EQ(faults("NET_DEVICES = \"mlx5_0:1,mlx5_0:2,eth7\"\n"),
            (Faults{"route class 1: found no device mlx5_0:2", "route class 1: found no device eth7"}));
}

TEST_F(BindingDevices, PathBitsBeyondTheLmc) {
  EXPECT_EQ(faults("NET_DEVICES = \"mlx5_0:1\"\nIB_LID_PATH_BITS = 4\n"),
            Faults{"route class 1: IB_LID_PATH_BITS = 4 is beyond the LMC of mlx5_0:1, which is 2"});
  // Without a device any port will do, and each has to have them.
  EXPECT_EQ(faults("IB_LID_PATH_BITS = \"1,5\"\n"),
            Faults{"route class 1: IB_LID_PATH_BITS = 1,5 is beyond the LMC of mlx5_0:1, which is 2"});
  EXPECT_EQ(faults("IB_LID_PATH_BITS = 3\n"), Faults{});
}

TEST_F(BindingDevices, PathBitsWithoutInfiniBand) {
  fs::remove_all(root_ / "class/infiniband");
  EXPECT_EQ(faults("IB_LID_PATH_BITS = 0\n"),
            Faults{"route class 1: found no InfiniBand port for IB_LID_PATH_BITS = 0"});
}

TEST_F(BindingDevices, AddressesThatAreNotSet) {
  for (const char* index : {"1", "2"}) {
    EXPECT_EQ(faults(std::string("NET_DEVICES = \"mlx5_0\"\nIB_GID_INDEX = ") + index + "\n"),
              Faults{std::string("route class 1: IB_GID_INDEX = ") + index + " is no address of mlx5_0:1"});
  }
}

}  // namespace
}  // namespace libcoll::command
