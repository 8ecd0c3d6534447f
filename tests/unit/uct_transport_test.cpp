#include "libcoll/transport/uct/uct_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "libcoll/transport/uct/uct_api.h"
#include "libcoll/transport/uct/uct_inbox.h"
#include "tests/unit/transport_conformance.h"

namespace libcoll::uct_transport_test {

using namespace schedule;
using namespace test;
using namespace transport;
using namespace transport::uct;

namespace {

/// What the recording stub saw of one uct_ep_create().
struct CreatedEndpoint {
  std::uint64_t field_mask = 0;
  unsigned path_index = 0;
  std::size_t to = 0;  ///< interface
  bool destroyed = false;
};

/// A machine with one adapter of several paths, in memory: interfaces deliver to each other on progress.
struct FakeUct {
  struct Interface {
    std::string transport;
    uct_am_callback_t handler = nullptr;
    void* handler_argument = nullptr;
    uct_error_handler_t error_handler = nullptr;
    void* error_argument = nullptr;
    std::deque<std::vector<std::byte>> arriving;
    bool closed = false;
  };
  struct Endpoint {
    std::size_t index = 0;  ///< in created
  };

  unsigned paths = 4;
  std::size_t max_bcopy = 256;
  std::size_t room = 1000000;           ///< fragments that can be sent before the next progress()
  std::size_t room_after_progress = 3;  ///< and after it, when there was no more
  bool lose = false;                    ///< fragments vanish on the way
  bool twice = false;                   ///< fragments arrive twice
  ucs_status_t flush_status = UCS_OK;   ///< what uct_ep_flush() returns
  std::vector<uct_completion_t*> flushes;

  std::vector<CreatedEndpoint> created;
  std::vector<std::size_t> sent_on;  ///< index in `created`, by fragment
  std::vector<std::pair<std::string, std::string>> settings;
  std::string opened_device;
  std::size_t refusals = 0;  ///< how often UCS_ERR_NO_RESOURCE was returned
  ucs_status_t send_status = UCS_OK;
  int open_handles = 0;  ///< memory domains, configurations, workers, contexts, interfaces, lists

  std::deque<Interface> interfaces;
  std::deque<Endpoint> endpoints;
};

FakeUct* fake = nullptr;

template <class Handle>
Handle handle_of(std::size_t index) {
  return reinterpret_cast<Handle>(index + 1);
}
template <class Handle>
std::size_t index_of(Handle handle) {
  return reinterpret_cast<std::size_t>(handle) - 1;
}

/// Each transport opens one worker and then one interface, so both have the same number.
UctApi make_fake_api() {
  UctApi api{};
  api.query_components = [](uct_component_h** list, unsigned* count) {
    static uct_component_h only[] = {handle_of<uct_component_h>(0)};
    ++fake->open_handles;
    *list = only;
    *count = 1;
    return UCS_OK;
  };
  api.release_component_list = [](uct_component_h*) { --fake->open_handles; };
  api.component_query = [](uct_component_h, uct_component_attr_t* attributes) {
    if ((attributes->field_mask & UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT) != 0) attributes->md_resource_count = 1;
    if ((attributes->field_mask & UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES) != 0) {
      std::strcpy(attributes->md_resources[0].md_name, "mlx5_0");  // NOLINT: fits
    }
    return UCS_OK;
  };
  api.md_config_read = [](uct_component_h, const char*, const char*, uct_md_config_t** config) {
    ++fake->open_handles;
    *config = handle_of<uct_md_config_t*>(0);
    return UCS_OK;
  };
  api.config_release = [](void*) { --fake->open_handles; };
  api.md_open = [](uct_component_h, const char*, const uct_md_config_t*, uct_md_h* md) {
    ++fake->open_handles;
    *md = handle_of<uct_md_h>(0);
    return UCS_OK;
  };
  api.md_close = [](uct_md_h) { --fake->open_handles; };
  api.md_query_tl_resources = [](uct_md_h, uct_tl_resource_desc_t** list, unsigned* count) {
    static uct_tl_resource_desc_t resources[] = {{"rc_mlx5", "mlx5_0:1", UCT_DEVICE_TYPE_NET, 0},
                                                 {"ud_mlx5", "mlx5_0:1", UCT_DEVICE_TYPE_NET, 0},
                                                 {"dc_mlx5", "mlx5_0:1", UCT_DEVICE_TYPE_NET, 0},
                                                 {"dc_mlx5", "mlx5_0:2", UCT_DEVICE_TYPE_NET, 0}};
    ++fake->open_handles;
    *list = resources;
    *count = std::size(resources);
    return UCS_OK;
  };
  api.release_tl_resource_list = [](uct_tl_resource_desc_t*) { --fake->open_handles; };
  api.async_context_create = [](ucs_async_mode_t, ucs_async_context_t** context) {
    ++fake->open_handles;
    *context = handle_of<ucs_async_context_t*>(0);
    return UCS_OK;
  };
  api.async_context_destroy = [](ucs_async_context_t*) { --fake->open_handles; };
  api.worker_create = [](ucs_async_context_t*, ucs_thread_mode_t, uct_worker_h* worker) {
    ++fake->open_handles;
    *worker = handle_of<uct_worker_h>(fake->interfaces.size());
    return UCS_OK;
  };
  api.worker_destroy = [](uct_worker_h) { --fake->open_handles; };
  api.md_iface_config_read = [](uct_md_h, const char*, const char*, const char*, uct_iface_config_t** config) {
    ++fake->open_handles;
    *config = handle_of<uct_iface_config_t*>(0);
    return UCS_OK;
  };
  api.config_modify = [](void*, const char* name, const char* value) {
    if (std::string(name) == "IB_SLL" || std::string(name).rfind("DC_MLX5_", 0) == 0) return UCS_ERR_NO_ELEM;
    fake->settings.emplace_back(name, value);
    return UCS_OK;
  };
  api.iface_open = [](uct_md_h, uct_worker_h, const uct_iface_params_t* parameters, const uct_iface_config_t*,
                      uct_iface_h* interface) {
    ++fake->open_handles;
    *interface = handle_of<uct_iface_h>(fake->interfaces.size());
    FakeUct::Interface& made = fake->interfaces.emplace_back();
    made.transport = parameters->mode.device.tl_name;
    made.error_handler = parameters->err_handler;
    made.error_argument = parameters->err_handler_arg;
    fake->opened_device = parameters->mode.device.dev_name;
    return UCS_OK;
  };
  api.iface_close = [](uct_iface_h interface) {
    --fake->open_handles;
    fake->interfaces[index_of(interface)].closed = true;
  };
  api.iface_query = [](uct_iface_h interface, uct_iface_attr_t* attributes) {
    *attributes = {};
    const bool by_interface = fake->interfaces[index_of(interface)].transport != "rc_mlx5";
    attributes->cap.flags = UCT_IFACE_FLAG_AM_BCOPY | UCT_IFACE_FLAG_CB_SYNC |
                            (by_interface ? UCT_IFACE_FLAG_CONNECT_TO_IFACE : UCT_IFACE_FLAG_CONNECT_TO_EP);
    attributes->cap.am.max_bcopy = fake->max_bcopy;
    attributes->device_addr_len = 1;
    attributes->iface_addr_len = sizeof(std::size_t);
    attributes->dev_num_paths = fake->paths;
    return UCS_OK;
  };
  api.iface_get_device_address = [](uct_iface_h, uct_device_addr_t*) { return UCS_OK; };
  api.iface_get_address = [](uct_iface_h interface, uct_iface_addr_t* address) {
    const std::size_t index = index_of(interface);
    std::memcpy(address, &index, sizeof index);
    return UCS_OK;
  };
  api.iface_set_am_handler = [](uct_iface_h interface, std::uint8_t, uct_am_callback_t handler, void* argument,
                                std::uint32_t) {
    fake->interfaces[index_of(interface)].handler = handler;
    fake->interfaces[index_of(interface)].handler_argument = argument;
    return UCS_OK;
  };
  api.iface_progress_enable = [](uct_iface_h, unsigned) {};
  api.iface_is_reachable = [](uct_iface_h, const uct_device_addr_t*, const uct_iface_addr_t*) { return 1; };
  api.ep_create = [](const uct_ep_params_t* parameters, uct_ep_h* endpoint) {
    CreatedEndpoint& made = fake->created.emplace_back();
    made.field_mask = parameters->field_mask;
    made.path_index = parameters->path_index;
    std::memcpy(&made.to, parameters->iface_addr, sizeof made.to);
    *endpoint = handle_of<uct_ep_h>(fake->created.size() - 1);
    return UCS_OK;
  };
  api.ep_destroy = [](uct_ep_h endpoint) { fake->created[index_of(endpoint)].destroyed = true; };
  api.ep_am_bcopy = [](uct_ep_h endpoint, std::uint8_t, uct_pack_callback_t pack, void* argument, unsigned) -> ssize_t {
    if (fake->send_status != UCS_OK) return fake->send_status;
    if (fake->room == 0) {
      ++fake->refusals;
      return UCS_ERR_NO_RESOURCE;
    }
    --fake->room;
    std::vector<std::byte> message(fake->max_bcopy);
    message.resize(pack(message.data(), argument));
    EXPECT_LE(message.size(), fake->max_bcopy);
    fake->sent_on.push_back(index_of(endpoint));
    const auto bytes = static_cast<ssize_t>(message.size());
    auto& arriving = fake->interfaces[fake->created[index_of(endpoint)].to].arriving;
    if (fake->twice) arriving.push_back(message);
    if (!fake->lose) arriving.push_back(std::move(message));
    return bytes;
  };
  api.ep_flush = [](uct_ep_h, unsigned, uct_completion_t* completion) {
    if (fake->flush_status == UCS_INPROGRESS) fake->flushes.push_back(completion);
    return fake->flush_status;
  };
  api.worker_progress = [](uct_worker_h worker) -> unsigned {
    FakeUct::Interface& interface = fake->interfaces[index_of(worker)];
    if (fake->room == 0) fake->room = fake->room_after_progress;
    unsigned count = 0;
    for (; !interface.arriving.empty(); ++count) {
      const std::vector<std::byte> message = std::move(interface.arriving.front());
      interface.arriving.pop_front();
      std::vector<std::byte> copy = message;
      EXPECT_EQ(interface.handler(interface.handler_argument, copy.data(), copy.size(), 0), UCS_OK);
    }
    return count;
  };
  api.iface_event_fd_get = [](uct_iface_h, int*) { return UCS_ERR_UNSUPPORTED; };
  api.iface_event_arm = [](uct_iface_h, unsigned) { return UCS_ERR_UNSUPPORTED; };
  return api;
}

const UctApi& fake_api() {
  static const UctApi api = make_fake_api();
  return api;
}

RouteBinding binding_of(const std::vector<std::int32_t>& path_indices,
                        std::vector<std::pair<std::string, std::string>> settings = {}) {
  RouteBinding binding;
  binding.backend = SteeringBackend::uct;
  for (const std::int32_t index : path_indices) {
    binding.classes.push_back({static_cast<std::int32_t>(binding.classes.size()), {}, index});
  }
  binding.classes.front().settings = std::move(settings);
  return binding;
}

std::string refusal(const RouteBinding& binding) {
  const auto opened = make_uct_transport(binding, fake_api());
  return opened.ok() ? "" : opened.error().message;
}

class UctTransportTest : public testing::Test {
 protected:
  void SetUp() override { fake = &uct_; }
  void TearDown() override {
    left_.reset();
    right_.reset();
    EXPECT_EQ(uct_.open_handles, 0) << "everything opened is closed again";
    EXPECT_TRUE(std::all_of(uct_.created.begin(), uct_.created.end(), [](const auto& each) { return each.destroyed; }));
    fake = nullptr;
  }

  void open(const RouteBinding& binding) {
    left_ = taken(make_uct_transport(binding, fake_api()));
    right_ = taken(make_uct_transport(binding, fake_api()));
    ASSERT_NE(left_, nullptr);
    ASSERT_NE(right_, nullptr);
  }
  PeerId to_right(std::int32_t route_class) {
    const Result<PeerId> peer = left_->connect(right_->address(), route_class);
    EXPECT_TRUE(peer.ok());
    return peer.ok() ? *peer : -1;
  }

  FakeUct uct_;
  std::unique_ptr<Transport> left_;
  std::unique_ptr<Transport> right_;
};

TEST_F(UctTransportTest, EndpointsOfAClassHaveItsPathIndex) {
  open(binding_of({0, 3, 1}));
  EXPECT_EQ(left_->route_classes(), 3);
  EXPECT_TRUE(uct_.created.empty()) << "endpoints are made on demand";
  const PeerId by_one = to_right(1);
  const PeerId by_two = to_right(2);
  const PeerId by_zero = to_right(0);
  EXPECT_EQ(to_right(1), by_one);
  EXPECT_EQ(to_right(2), by_two);
  EXPECT_EQ(to_right(0), by_zero);
  ASSERT_EQ(uct_.created.size(), 3U) << "one for each peer and class";
  const unsigned expected[] = {3, 1, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    // uct.h: "Enables uct_ep_params::path_index"; without the bit the index is ignored.
    EXPECT_NE(uct_.created[i].field_mask & UCT_EP_PARAM_FIELD_PATH_INDEX, 0U);
    EXPECT_EQ(uct_.created[i].path_index, expected[i]);
    EXPECT_NE(uct_.created[i].field_mask & UCT_EP_PARAM_FIELD_IFACE, 0U);
    EXPECT_NE(uct_.created[i].field_mask & UCT_EP_PARAM_FIELD_IFACE_ADDR, 0U);
    EXPECT_NE(uct_.created[i].field_mask & UCT_EP_PARAM_FIELD_DEV_ADDR, 0U);
  }
}

TEST_F(UctTransportTest, AClassWithoutAnIndexIsLeftToTheDevice) {
  open(RouteBinding{});
  EXPECT_EQ(left_->route_classes(), 1);
  to_right(0);
  ASSERT_EQ(uct_.created.size(), 1U);
  EXPECT_EQ(uct_.created[0].field_mask & UCT_EP_PARAM_FIELD_PATH_INDEX, 0U);
}

TEST_F(UctTransportTest, ASendGoesOutOnTheEndpointOfItsClass) {
  open(binding_of({0, 1, 2, 3}));
  const std::vector<PeerId> peers = {to_right(0), to_right(1), to_right(2), to_right(3)};
  const std::vector<std::byte> data = pattern(1000, 1);
  for (const std::int32_t k : {2, 0, 3, 1}) {
    uct_.sent_on.clear();
    Watched sent;
    ASSERT_EQ(left_->send(peers[static_cast<std::size_t>(k)], 5, data.data(), data.size(), &sent.completion),
              Posted::done);
    // 1000 bytes in fragments of at most 256 with a header of 40 in each: 1000 / 216 rounded up.
    ASSERT_EQ(uct_.sent_on.size(), 5U);
    for (const std::size_t endpoint : uct_.sent_on)
      EXPECT_EQ(uct_.created[endpoint].path_index, static_cast<unsigned>(k));
  }
}

TEST_F(UctTransportTest, PathIndicesBeyondTheDevicesAreRefused) {
  const std::string message = refusal(binding_of({0, 3, 4}));
  EXPECT_NE(message.find("found path_index 4 in route class 2, expected 0 to 3"), std::string::npos) << message;
  EXPECT_NE(message.find("has 4 paths"), std::string::npos) << message;
  uct_.paths = 1;
  EXPECT_NE(refusal(binding_of({0, 1})).find("found path_index 1 in route class 1, expected 0 to 0"),
            std::string::npos);
  EXPECT_EQ(refusal(binding_of({0, 0})), "");
}

TEST_F(UctTransportTest, AClassMustHaveAnIndexAndNoSettingsOfItsOwn) {
  RouteBinding binding = binding_of({0, 1});
  binding.classes[1].path_index.reset();
  EXPECT_NE(refusal(binding).find("found no path_index in route class 1"), std::string::npos);
  binding = binding_of({0, 1});
  binding.classes[1].settings = {{"IB_SL", "1"}};
  EXPECT_NE(refusal(binding).find("found setting IB_SL in route class 1"), std::string::npos);
}

TEST_F(UctTransportTest, SettingsChooseTheInterfaceAndConfigureIt) {
  open(binding_of(
      {0},
      {{"TLS", "dc_x,self"}, {"NET_DEVICES", "mlx5_0:2,mlx5_0:1"}, {"IB_NUM_PATHS", "4"}, {"DC_MLX5_NUM_DCI", "32"}}));
  EXPECT_EQ(left_->name(), "uct dc_mlx5/mlx5_0:2");
  EXPECT_EQ(uct_.opened_device, "mlx5_0:2");
  // What UCX 1.13 does: a transport's own settings have no prefix here.
  const std::vector<std::pair<std::string, std::string>> taken_settings = {{"IB_NUM_PATHS", "4"}, {"NUM_DCI", "32"}};
  ASSERT_EQ(uct_.settings.size(), 4U) << "two for each transport";
  uct_.settings.resize(2);
  EXPECT_EQ(uct_.settings, taken_settings);
}

TEST_F(UctTransportTest, WithoutSettingsDcComesFirst) {
  open(binding_of({0}));
  EXPECT_EQ(left_->name(), "uct dc_mlx5/mlx5_0:1");
}

TEST_F(UctTransportTest, UnknownSettingsAndInterfacesAreErrors) {
  const std::string setting = refusal(binding_of({0}, {{"IB_SLL", "1"}}));
  EXPECT_NE(setting.find("setting IB_SLL = \"1\" of route class 0"), std::string::npos) << setting;
  const std::string device = refusal(binding_of({0}, {{"NET_DEVICES", "mlx5_9:1"}}));
  EXPECT_NE(device.find("on device mlx5_9:1"), std::string::npos) << device;
  EXPECT_NE(device.find("dc_mlx5/mlx5_0:1, dc_mlx5/mlx5_0:2"), std::string::npos) << device;
}

TEST_F(UctTransportTest, TransportsThatConnectByEndpointAreRefused) {
  const std::string message = refusal(binding_of({0}, {{"TLS", "rc"}}));
  EXPECT_NE(message.find("found rc_mlx5/mlx5_0:1"), std::string::npos) << message;
  EXPECT_NE(message.find("expected a transport that connects by interface address"), std::string::npos) << message;
}

TEST_F(UctTransportTest, ForeignAddressesAreRefused) {
  open(binding_of({0}));
  for (const std::string& address : {std::string(), std::string("?"), std::string("rubbish of some length"),
                                     left_->address().substr(1), left_->address() + "x"}) {
    EXPECT_FALSE(left_->connect(address, 0).ok());
  }
  const auto other = taken(make_uct_transport(binding_of({0}, {{"TLS", "ud"}}), fake_api()));
  const Result<PeerId> peer = left_->connect(other->address(), 0);
  ASSERT_FALSE(peer.ok());
  EXPECT_NE(peer.error().message.find("found a peer on transport ud_mlx5, expected dc_mlx5"), std::string::npos);
}

TEST_F(UctTransportTest, WhatFindsNoRoomIsSentLaterInOrder) {
  open(binding_of({0, 1}));
  uct_.room = 2;
  const PeerId peer = to_right(1);
  const std::vector<std::byte> first = pattern(2000, 1);
  const std::vector<std::byte> second = pattern(300, 2);
  std::vector<std::byte> got_first(first.size());
  std::vector<std::byte> got_second(second.size());
  Watched watched[4];
  watched[0].posted(left_->send(peer, 1, first.data(), first.size(), &watched[0].completion));
  watched[1].posted(left_->send(peer, 2, second.data(), second.size(), &watched[1].completion));
  EXPECT_FALSE(watched[0].over());
  EXPECT_FALSE(watched[1].over());
  EXPECT_EQ(uct_.refusals, 1U) << "the second waits behind the first";
  watched[2].posted(right_->receive(1, 1, got_first.data(), got_first.size(), &watched[2].completion));
  watched[3].posted(right_->receive(1, 2, got_second.data(), got_second.size(), &watched[3].completion));
  Flush flush;
  const PeerId peers[] = {peer};
  EXPECT_FALSE(left_->flushed(flush, peers));
  for (int i = 0; i < 100; ++i) {
    left_->progress();
    right_->progress();
  }
  for (const Watched& each : watched) EXPECT_TRUE(each.sound());
  EXPECT_EQ(watched[0].calls, 1);
  EXPECT_EQ(got_first, first);
  EXPECT_EQ(got_second, second);
  EXPECT_GT(uct_.refusals, 1U);
  EXPECT_TRUE(left_->flushed(flush, peers));
}

TEST_F(UctTransportTest, AFailedSendIsReportedAndEndsItsEndpoint) {
  open(binding_of({0, 1}));
  const PeerId broken = to_right(0);
  const PeerId fine = to_right(1);
  const std::vector<std::byte> data = pattern(10, 1);
  uct_.send_status = UCS_ERR_ENDPOINT_TIMEOUT;
  Watched sent;
  EXPECT_EQ(left_->send(broken, 1, data.data(), data.size(), &sent.completion), Posted::failed);
  uct_.send_status = UCS_OK;
  EXPECT_EQ(left_->send(broken, 2, data.data(), data.size(), &sent.completion), Posted::failed);
  EXPECT_EQ(left_->send(fine, 3, data.data(), data.size(), &sent.completion), Posted::done);
  EXPECT_EQ(sent.calls, 0);
}

TEST_F(UctTransportTest, WhatABrokenEndpointHoldsBackIsGivenUp) {
  open(binding_of({0}));
  const PeerId peer = to_right(0);
  uct_.room = 0;
  uct_.room_after_progress = 0;
  const std::vector<std::byte> data = pattern(10, 1);
  Watched sent;
  sent.posted(left_->send(peer, 1, data.data(), data.size(), &sent.completion));
  ASSERT_FALSE(sent.over());
  const FakeUct::Interface& interface = uct_.interfaces[0];
  EXPECT_EQ(interface.error_handler(interface.error_argument, handle_of<uct_ep_h>(0), UCS_ERR_CONNECTION_RESET),
            UCS_OK);
  EXPECT_TRUE(left_->progress());
  EXPECT_EQ(sent.calls, 1);
  EXPECT_FALSE(sent.succeeded);
  Flush flush;
  EXPECT_TRUE(left_->flushed(flush, std::vector<PeerId>{peer}));
}

TEST_F(UctTransportTest, AFlushIsAskedForOnceAndAwaited) {
  open(binding_of({0, 1}));
  const std::vector<PeerId> peers = {to_right(0), -1, to_right(1)};
  uct_.flush_status = UCS_ERR_NO_RESOURCE;
  Flush flush;
  EXPECT_FALSE(left_->flushed(flush, peers));
  uct_.flush_status = UCS_INPROGRESS;
  EXPECT_FALSE(left_->flushed(flush, peers));
  EXPECT_FALSE(left_->flushed(flush, peers));
  ASSERT_EQ(uct_.flushes.size(), 2U);
  for (uct_completion_t* each : uct_.flushes) {
    EXPECT_FALSE(left_->flushed(flush, peers));
    EXPECT_EQ(--each->count, 0);  // as UCT does
    each->func(each);
  }
  EXPECT_TRUE(left_->flushed(flush, peers));
}

TEST_F(UctTransportTest, AnAbandonedFlushMayStillComplete) {
  open(binding_of({0}));
  const std::vector<PeerId> peers = {to_right(0)};
  uct_.flush_status = UCS_INPROGRESS;
  Flush flush;
  EXPECT_FALSE(left_->flushed(flush, peers));
  left_->abandon(flush);
  EXPECT_FALSE(flush.started);
  ASSERT_EQ(uct_.flushes.size(), 1U);
  --uct_.flushes[0]->count;
  uct_.flushes[0]->func(uct_.flushes[0]);
  uct_.flush_status = UCS_OK;
  EXPECT_TRUE(left_->flushed(flush, peers));
}

TEST_F(UctTransportTest, FragmentsThatComeTwiceCountOnce) {
  open(binding_of({0}));
  uct_.twice = true;
  const PeerId peer = to_right(0);
  const std::vector<std::byte> data = pattern(1000, 1);
  std::vector<std::byte> got(data.size());
  Watched received;
  Watched again;
  received.posted(right_->receive(0, 1, got.data(), got.size(), &received.completion));
  again.posted(right_->receive(0, 1, got.data(), got.size(), &again.completion));
  Watched sent;
  EXPECT_EQ(left_->send(peer, 1, data.data(), data.size(), &sent.completion), Posted::done);
  while (right_->progress()) {
  }
  EXPECT_TRUE(received.sound());
  EXPECT_EQ(got, data);
  EXPECT_FALSE(again.over());
}

TEST_F(UctTransportTest, AMessageThatLostItsEndIsReported) {
  open(binding_of({0}));
  const PeerId peer = to_right(0);
  const std::vector<std::byte> data = pattern(400, 1);
  const std::vector<std::byte> next = pattern(20, 2);
  std::vector<std::byte> got(data.size());
  std::vector<std::byte> got_next(next.size());
  Watched received;
  Watched received_next;
  received.posted(right_->receive(0, 1, got.data(), got.size(), &received.completion));
  received_next.posted(right_->receive(0, 2, got_next.data(), got_next.size(), &received_next.completion));
  Watched sent;
  uct_.room = 1;
  sent.posted(left_->send(peer, 1, data.data(), data.size(), &sent.completion));
  uct_.lose = true;
  left_->progress();
  uct_.lose = false;
  ASSERT_TRUE(sent.over());
  EXPECT_EQ(left_->send(peer, 2, next.data(), next.size(), &sent.completion), Posted::done);
  while (right_->progress()) {
  }
  EXPECT_EQ(received.calls, 1);
  EXPECT_FALSE(received.succeeded);
  EXPECT_TRUE(received_next.sound());
  EXPECT_EQ(got_next, next);
}

TEST_F(UctTransportTest, RubbishIsDropped) {
  open(binding_of({0}));
  const FakeUct::Interface& interface = uct_.interfaces[0];
  std::vector<std::byte> rubbish(sizeof(FragmentHeader) - 1, std::byte{0xff});
  EXPECT_EQ(interface.handler(interface.handler_argument, rubbish.data(), rubbish.size(), 0), UCS_OK);
  // More payload than the message has.
  FragmentHeader header;
  header.tag = 1;
  header.length = 4;
  std::vector<std::byte> fragment(sizeof header + 8);
  std::memcpy(fragment.data(), &header, sizeof header);
  std::vector<std::byte> got(4 + 8, std::byte{0xa5});
  Watched received;
  received.posted(left_->receive(0, 1, got.data(), 4, &received.completion));
  EXPECT_EQ(interface.handler(interface.handler_argument, fragment.data(), fragment.size(), 0), UCS_OK);
  left_->progress();
  EXPECT_EQ(received.calls, 1);
  EXPECT_FALSE(received.succeeded);
  EXPECT_EQ(got, std::vector<std::byte>(12, std::byte{0xa5}));
}

/// The conformance checks with four paths, tiny fragments and hardly any room.
TransportPair fake_pair() {
  static std::unique_ptr<FakeUct> machine;
  machine = std::make_unique<FakeUct>();
  machine->room = 5;
  fake = machine.get();
  const RouteBinding binding = binding_of({0, 3});
  return {taken(make_uct_transport(binding, fake_api())), taken(make_uct_transport(binding, fake_api())), {}};
}

INSTANTIATE_TEST_SUITE_P(Stub, TransportConformance, testing::Values(TransportKind{"uct_stub", fake_pair}), kind_name);

}  // namespace
}  // namespace libcoll::uct_transport_test
