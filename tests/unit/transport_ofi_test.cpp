// What is libfabric's own in its transport; what all transports have in common is in transport_conformance.h.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/transport/ofi_transport.h"

namespace libcoll {
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
}  // namespace libcoll
