// What was measured of one MPI is not another one's.
#include "libcoll/base/mpi_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace libcoll::mpi_name_test {
namespace {

constexpr const char* open_mpi = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4";

std::string name_with(const char* version, std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return mpi_name(version, environment.data());
}

TEST(MpiName, IsTheVersionInPlainLetters) {
  EXPECT_EQ(name_with(open_mpi, {}), "Open_MPI_v4.1.4");
  EXPECT_EQ(name_with("MPICH Version:      4.0.2\nMPICH Release date: 2022\n", {"HOME=/", "OMPI_COMM_WORLD_RANK=0"}),
            "MPICH_Version_4.0.2");
  EXPECT_EQ(name_with("Intel(R) MPI Library 2021.10 for Linux* OS\n", {}), "Intel_R_MPI_Library_2021.10_for_Linux_OS");
  EXPECT_EQ(mpi_name(std::string(10'000, 'x'), nullptr).size(), 48U);
  EXPECT_EQ(mpi_name("", nullptr), "");
}

TEST(MpiName, SettingsOfMessagesCount) {
  const std::string plain = name_with(open_mpi, {});
  const std::string ucx = name_with(open_mpi, {"OMPI_MCA_pml=ucx"});
  EXPECT_EQ(ucx.size(), plain.size() + 9);
  EXPECT_TRUE(ucx.starts_with(plain + "_"));
  EXPECT_NE(ucx, name_with(open_mpi, {"OMPI_MCA_pml=ob1"}));
  EXPECT_NE(ucx, name_with(open_mpi, {"OMPI_MCA_pml=ucx", "UCX_TLS=tcp"}));
  EXPECT_EQ(name_with(open_mpi, {"OMPI_MCA_pml=ucx", "UCX_TLS=tcp"}),
            name_with(open_mpi, {"A=b", "UCX_TLS=tcp", "OMPI_MCA_pml=ucx"}));
  EXPECT_EQ(ucx.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"),
            std::string::npos);
}

/// A job on other hosts has the same.
TEST(MpiName, DevicesAndHostsDoNotCount) {
  EXPECT_EQ(name_with(open_mpi, {"OMPI_MCA_btl_tcp_if_include=eth1", "UCX_NET_DEVICES=mlx5_0:1",
                                 "MPIR_CVAR_CH3_INTERFACE_HOSTNAME=node7", "OMPI_MCA_orte_hnp_uri=1.2"}),
            name_with(open_mpi, {}));
}

}  // namespace
}  // namespace libcoll::mpi_name_test
