#include "libcoll/transport/library_version.h"

#include <gtest/gtest.h>

#include "libcoll/transport/ofi/ofi_transport.h"
#include "libcoll/transport/ucx/ucx_transport.h"

namespace libcoll::library_version_test {

using namespace transport;
using namespace transport::ofi;
using namespace transport::ucx;

namespace {

TEST(LibraryVersion, NothingIsSaidOfThoseThatAreKnown) {
  for (const LibraryVersion version : {LibraryVersion{1, 13}, {1, 15}, {1, 18}}) {
    EXPECT_FALSE(remark_on(known_ucx, version)) << version.minor;
  }
  for (const LibraryVersion version : {LibraryVersion{1, 17}, {1, 22}, {2, 0}, {2, 9}}) {
    EXPECT_FALSE(remark_on(known_libfabric, version)) << version.major << "." << version.minor;
  }
}

TEST(LibraryVersion, WhatFollowsIsSaidOfOthers) {
  const auto old = remark_on(known_ucx, {1, 9});
  ASSERT_TRUE(old);
  EXPECT_TRUE(old->too_old);
  EXPECT_EQ(old->text,
            "UCX: found 1.9, expected 1.13 to 1.18: calls may fail or be slow; LIBCOLL_TRANSPORT chooses another "
            "transport");
  const auto fresh = remark_on(known_ucx, {2, 0});
  ASSERT_TRUE(fresh);
  EXPECT_FALSE(fresh->too_old);
  EXPECT_EQ(fresh->text, "UCX: found 2.0, expected 1.13 to 1.18: it is used as the newest of these is");
  EXPECT_TRUE(remark_on(known_libfabric, {1, 16})->too_old);
  EXPECT_NE(remark_on(known_libfabric, {3, 0})->text.find("expected 1.17 to 2.x"), std::string::npos);
}

TEST(LibraryVersion, ThoseOfThisProcess) {
  EXPECT_GE(ucx_version(), (LibraryVersion{1, 0}));
  const auto ofi = ofi_version();
  EXPECT_GE(ofi.value_or(LibraryVersion{1, 0}), (LibraryVersion{1, 0}));
}

}  // namespace
}  // namespace libcoll::library_version_test
