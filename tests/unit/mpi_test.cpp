// The MPI of the process as the core sees it, without an MPI.
#include "libcoll/serve/mpi.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "pmpi/shim/shim.h"

namespace libcoll::mpi_test {

using namespace serve;

namespace {

int any_function() { return mpi_success; }

void* find_all(const char* /*name*/) { return reinterpret_cast<void*>(&any_function); }

void* find_all_but_allreduce(const char* name) {
  return std::string_view(name) == "PMPI_Allreduce" ? nullptr : find_all(name);
}

/// An MPI whose handles are ints, and one whose handles are addresses.
class Mpis : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    description_.handle_bytes = GetParam();
    description_.status_bytes = 20;
    description_.status_source = 8;
    description_.status_tag = 12;
    description_.status_error = 16;
    description_.comm_world = 0x84000000U;
    description_.err_other = 15;
    description_.in_place = this;
    ASSERT_EQ(find_mpi(description_, &find_all), nullptr);
  }
  void TearDown() override { mpi = {}; }

  /// As much of a number as such an MPI's handles have.
  static std::uint64_t kept(std::uint64_t number) { return GetParam() == 8 ? number : number & 0xffffffffU; }

  libcoll_mpi_interface description_{};
};

TEST_P(Mpis, ConstantsAreThoseOfTheDescription) {
  EXPECT_EQ(mpi.comm_world, MpiComm{0x84000000U});
  EXPECT_EQ(mpi.err_other, 15);
  EXPECT_EQ(mpi.in_place, this);
}

TEST_P(Mpis, AFunctionThatIsMissingIsNamed) {
  const char* missing = find_mpi(description_, &find_all_but_allreduce);
  ASSERT_NE(missing, nullptr);
  EXPECT_STREQ(missing, "PMPI_Allreduce");
}

TEST_P(Mpis, ArgumentsAreHandlesWithoutWhatTheRegisterHoldsBesides) {
  EXPECT_EQ(cleaned(MpiComm{0xdeadbeef84000000U}), MpiComm{kept(0xdeadbeef84000000U)});
  EXPECT_EQ(cleaned(-1), -1);
  EXPECT_EQ(cleaned(std::int64_t{1} << 40), std::int64_t{1} << 40);
}

TEST_P(Mpis, HandlesInTheProgramsMemoryHaveTheirWidth) {
  std::array<std::byte, 64> memory{};
  memory.fill(std::byte{0x55});
  const MpiRequests requests(static_cast<void*>(memory.data()));
  requests.set(1, MpiRequest{0x123456789abcdef0U});
  EXPECT_EQ(requests.get(1), MpiRequest{kept(0x123456789abcdef0U)});
  EXPECT_EQ(requests.from(1).get(), requests.get(1));
  const std::size_t width = GetParam();
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (i < width || i >= 2 * width) {
      EXPECT_EQ(memory.at(i), std::byte{0x55}) << i;
    }
  }
}

TEST_P(Mpis, AVariableOfOursGetsWhatMpiWritesThere) {
  MpiRequest request = mpi.request_null;
  const MpiRequests pointer = &request;
  pointer.set(0, MpiRequest{0x98000001U});
  EXPECT_EQ(request, MpiRequest{0x98000001U});
  EXPECT_TRUE(pointer.given());
  EXPECT_FALSE(MpiRequests().given());
}

TEST_P(Mpis, RowsOfHandlesGrowAndShrink) {
  HandleVector<MpiDatatype> types;
  EXPECT_TRUE(types.empty());
  for (std::uint64_t number = 1; number <= 100; ++number) types.push_back(MpiDatatype{number});
  types.pop_back();
  ASSERT_EQ(types.size(), 99U);
  for (std::size_t place = 0; place < types.size(); ++place) EXPECT_EQ(types.at(place), MpiDatatype{place + 1});
  types.data().set(7, MpiDatatype{1000});
  EXPECT_EQ(types.at(7), MpiDatatype{1000});
  EXPECT_EQ(types.at(8), MpiDatatype{9});
}

TEST_P(Mpis, StatusesAreLaidOutAsDescribed) {
  Statuses statuses;
  statuses.resize(3);
  set_status(statuses.at(1), 5, 6, 7);
  EXPECT_EQ(source_of(statuses.at(1)), 5);
  EXPECT_EQ(error_of(statuses.at(1)), 7);
  int tag = 0;
  std::memcpy(&tag, reinterpret_cast<const std::byte*>(statuses.data()) + 20 + 12, sizeof tag);
  EXPECT_EQ(tag, 6);
  EXPECT_EQ(source_of(statuses.at(0)), 0);
  EXPECT_EQ(source_of(statuses.at(2)), 0);
}

INSTANTIATE_TEST_SUITE_P(HandleBytes, Mpis, testing::Values(std::size_t{4}, std::size_t{8}));

#ifdef LIBCOLL_OTHER_MPIS
// Values of MPI-5.0, appendix A.
TEST(Shims, TheStandardAbiIsDescribedByItsValues) {
  const libcoll_mpi_interface& described = *libcoll_describe_standard_abi(nullptr);
  EXPECT_EQ(described.comm_world, 0x101U);
  EXPECT_EQ(described.int_type, 0x209U);
  EXPECT_EQ(described.min, 0x22U);
  EXPECT_EQ(described.handle_bytes, sizeof(void*));
  EXPECT_EQ(described.status_bytes, 8 * sizeof(int));
}
#endif

#ifdef LIBCOLL_HAS_MPICH
// Values that MPICH's ABI initiative fixes. Handles are ints: their signs are no part of the numbers.
TEST(Shims, MpichIsDescribedByItsValues) {
  const libcoll_mpi_interface& described = *libcoll_describe_mpich(nullptr);
  EXPECT_EQ(described.comm_world, 0x44000000U);
  EXPECT_EQ(described.int_type, 0x4c000405U);
  EXPECT_EQ(described.min, 0x58000002U);
  EXPECT_EQ(described.handle_bytes, sizeof(int));
  EXPECT_EQ(described.status_bytes, 5 * sizeof(int));
}
#endif

/// Open MPI's handles are the addresses of its objects.
TEST(Shims, OpenMpiIsDescribedByTheObjectsThatAreFound) {
  static std::string world;
  const auto find = [](const char* name) -> void* {
    return std::string_view(name) == "ompi_mpi_comm_world" ? &world : nullptr;
  };
  const libcoll_mpi_interface& described = *libcoll_describe_openmpi(find);
  EXPECT_EQ(described.comm_world, reinterpret_cast<std::uintptr_t>(&world));
  EXPECT_EQ(described.handle_bytes, sizeof(void*));
  for (std::size_t i = 0; i < described.datatype_count; ++i) EXPECT_EQ(described.datatypes[i].handle, 0U);
}

}  // namespace
}  // namespace libcoll::mpi_test
