// What is libfabric's own in its transport; what all transports have in common is in transport_conformance.h.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/transport/ofi/ofi_settings.h"
#include "libcoll/transport/ofi/ofi_transport.h"

namespace libcoll::transport_ofi_test {

using namespace schedule;
using namespace transport;
using namespace transport::ofi;

namespace {

std::unique_ptr<Transport> taken(Result<std::unique_ptr<Transport>> opened) {
  if (opened.ok()) return std::move(opened.value());
  ADD_FAILURE() << opened.error().message;
  return nullptr;
}

void expect_refused(const RouteBinding& binding, const OfiOptions& options, const std::string& reason) {
  const Result<std::unique_ptr<Transport>> opened = make_ofi_transport(binding, options);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find(reason), std::string::npos) << opened.error().message;
}

RouteBinding one_class(std::vector<std::pair<std::string, std::string>> settings) {
  RouteBinding binding;
  binding.classes = {{0, std::move(settings), {}}};
  return binding;
}

/// libfabric reads its settings when it is first used in a process: here with those that programs over TCP have, not
/// with its own 415 MiB of receive buffers for each transport.
class FirstUseOverTcp : public testing::Environment {
 public:
  void SetUp() override { EXPECT_TRUE(make_ofi_transport({}, {"tcp;ofi_rxm", 1, false}).ok()); }
};
const testing::Environment* const first_use = testing::AddGlobalTestEnvironment(new FirstUseOverTcp);

TEST(OfiTransport, RefusesWhatItCannotDo) {
  expect_refused({}, {"no_such_provider", 1, false}, "no provider \"no_such_provider\"");
  expect_refused(one_class({{"NET_DEVICES", "no_such_device"}}), {"tcp;ofi_rxm", 1, false}, "\"no_such_device\"");
  expect_refused(one_class({{"IB_SL", "1"}}), {}, "setting IB_SL of route class 0");
  RouteBinding by_path_index;
  by_path_index.backend = SteeringBackend::uct;
  expect_refused(by_path_index, {}, "path indices");
}

TEST(OfiTransport, RefusesAPeerOfAnotherProvider) {
  const auto tcp = taken(make_ofi_transport({}, {"tcp;ofi_rxm", 1, false}));
  const auto shm = taken(make_ofi_transport({}, {"shm", 1, false}));
  ASSERT_TRUE(tcp != nullptr && shm != nullptr);
  EXPECT_EQ(tcp->name(), "ofi (tcp;ofi_rxm)");
  EXPECT_EQ(shm->name(), "ofi (shm)");
  EXPECT_FALSE(tcp->connect(shm->address(), 0).ok());
  EXPECT_FALSE(shm->connect(tcp->address(), 0).ok());
  EXPECT_FALSE(tcp->connect("", 0).ok());
}

std::vector<std::string> current_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

TEST(OfiTransport, LeavesTheEnvironmentAlone) {
  char** const place = environ;
  const std::vector<std::string> before = current_environment();
  for (const char* provider : {"tcp;ofi_rxm", "tcp", "shm", "no_such_provider"}) {
    static_cast<void>(make_ofi_transport({}, {provider, 1, false}));
    EXPECT_EQ(environ, place) << provider;
    EXPECT_EQ(current_environment(), before) << provider;
  }
}

TEST(OfiSettings, AreThereForTcpAloneAndForAWhile) {
  {
    const OfiSettings settings("tcp");
    EXPECT_STREQ(getenv("FI_OFI_RXM_BUFFER_SIZE"), "1024");
    EXPECT_STREQ(getenv("FI_OFI_RXM_EAGER_LIMIT"), "16384");
    EXPECT_STREQ(getenv("FI_OFI_RXM_SAR_LIMIT"), "16384");
    EXPECT_STREQ(getenv("FI_OFI_RXM_MSG_RX_SIZE"), "512");
    EXPECT_NE(getenv("PATH"), nullptr);
  }
  EXPECT_EQ(getenv("FI_OFI_RXM_BUFFER_SIZE"), nullptr);
  for (const char* provider : {"shm", "verbs;ofi_rxm", "efa"}) {
    const OfiSettings settings(provider);
    EXPECT_EQ(getenv("FI_OFI_RXM_BUFFER_SIZE"), nullptr) << provider;
  }
}

TEST(OfiSettings, AreNotThereWhereTheUserHasAny) {
  ASSERT_EQ(setenv("FI_OFI_RXM_SAR_LIMIT", "4096", 1), 0);
  {
    const OfiSettings settings("tcp;ofi_rxm");
    EXPECT_EQ(getenv("FI_OFI_RXM_BUFFER_SIZE"), nullptr);
  }
  EXPECT_STREQ(getenv("FI_OFI_RXM_SAR_LIMIT"), "4096");
  ASSERT_EQ(unsetenv("FI_OFI_RXM_SAR_LIMIT"), 0);
}

TEST(OfiSettings, WhatOthersDoMeanwhileStays) {
  for (const bool adds : {false, true}) {
    for (const char* name : {"LIBCOLL_TEST_A", "LIBCOLL_TEST_B", "LIBCOLL_TEST_C"}) ASSERT_EQ(setenv(name, "1", 1), 0);
    std::vector<std::string> expected = current_environment();
    std::erase(expected, "LIBCOLL_TEST_A=1");
    std::replace(expected.begin(), expected.end(), std::string("LIBCOLL_TEST_B=1"), std::string("LIBCOLL_TEST_B=2"));
    {
      const OfiSettings settings("tcp");
      ASSERT_EQ(unsetenv("LIBCOLL_TEST_A"), 0);
      ASSERT_EQ(setenv("LIBCOLL_TEST_B", "2", 1), 0);
      if (adds) {
        ASSERT_EQ(setenv("LIBCOLL_TEST_D", "3", 1), 0);
        expected.emplace_back("LIBCOLL_TEST_D=3");
      }
      EXPECT_STREQ(getenv("FI_OFI_RXM_BUFFER_SIZE"), "1024");
    }
    EXPECT_EQ(current_environment(), expected) << adds;
  }
}

TEST(OfiTransport, LeavesSignalHandlersAlone) {
  constexpr std::array<int, 6> signals = {SIGSEGV, SIGBUS, SIGINT, SIGTERM, SIGABRT, SIGFPE};
  std::array<struct sigaction, signals.size()> before{};
  for (std::size_t i = 0; i < signals.size(); ++i) ASSERT_EQ(sigaction(signals[i], nullptr, &before[i]), 0);
  for (const char* provider : {"shm", "tcp;ofi_rxm"}) {
    auto left = taken(make_ofi_transport({}, {provider, 1, false}));
    const auto right = taken(make_ofi_transport({}, {provider, 1, false}));
    ASSERT_TRUE(left != nullptr && right != nullptr);
    ASSERT_TRUE(left->connect(right->address(), 0).ok());
    left->progress();
    for (std::size_t i = 0; i < signals.size(); ++i) {
      struct sigaction now {};
      ASSERT_EQ(sigaction(signals[i], nullptr, &now), 0);
      EXPECT_EQ(now.sa_sigaction, before[i].sa_sigaction) << provider << ", signal " << signals[i];
    }
  }
}

}  // namespace
}  // namespace libcoll::transport_ofi_test
