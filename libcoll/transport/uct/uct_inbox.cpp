#include "libcoll/transport/uct/uct_inbox.h"

#include <cstring>

namespace libcoll::transport::uct {

bool FinishedMessages::deliver() {
  if (entries_.empty()) return false;
  delivering_.clear();
  delivering_.swap(entries_);
  for (const Entry& each : delivering_) each.completion->waiter->completed(each.completion->index, each.ok);
  return true;
}

Posted UctInbox::receive(std::int32_t route_class, std::uint64_t tag, void* data, std::size_t bytes,
                         Completion* completion) {
  const Key key{static_cast<std::uint32_t>(route_class), tag};
  const auto found = unexpected_.lower_bound(key);
  if (found == unexpected_.end() || found->first != key) {
    waiting_.emplace(key, Waiting{data, bytes, completion});
    return Posted::pending;
  }
  const std::shared_ptr<Message> message = found->second;
  unexpected_.erase(found);
  if (message->spoilt || message->length != bytes) {
    completion->other_length = !message->spoilt;
    message->target = nullptr;
    finished_.add(completion, false);
    return Posted::pending;
  }
  if (message->received > 0) std::memcpy(data, message->storage.get(), message->received);
  if (message->received == message->length) return Posted::done;
  message->target = static_cast<std::byte*>(data);
  message->storage.reset();
  message->completion = completion;
  return Posted::pending;
}

void UctInbox::arrived(const void* fragment, std::size_t bytes) {
  FragmentHeader header;
  if (bytes < sizeof header) return;
  std::memcpy(&header, fragment, sizeof header);
  const std::byte* payload = static_cast<const std::byte*>(fragment) + sizeof header;
  bytes -= sizeof header;

  Stream& stream = streams_[{header.sender, header.route_class}];
  const auto ahead = static_cast<std::int32_t>(header.sequence - stream.next_sequence);
  if (ahead < 0) return;
  stream.next_sequence = header.sequence + 1;
  const bool continues = stream.current != nullptr && header.offset == stream.current->received && ahead == 0;
  if (stream.current != nullptr && !continues) give_up(stream);
  if (stream.current == nullptr) {
    if (header.offset != 0) return;
    stream.current = begin(header);
  }
  Message& message = *stream.current;
  if (bytes > message.length - message.received) {
    give_up(stream);
    return;
  }
  if (message.target != nullptr && bytes > 0) std::memcpy(message.target + message.received, payload, bytes);
  message.received += bytes;
  if (message.received < message.length) return;
  if (message.completion != nullptr) finished_.add(message.completion, true);
  stream.current.reset();
}

std::shared_ptr<UctInbox::Message> UctInbox::begin(const FragmentHeader& header) {
  const Key key{header.route_class, header.tag};
  auto message = std::make_shared<Message>();
  message->length = header.length;
  const auto waiting = waiting_.lower_bound(key);
  if (waiting == waiting_.end() || waiting->first != key) {
    message->storage = std::make_unique_for_overwrite<std::byte[]>(message->length);
    message->target = message->storage.get();
    unexpected_.emplace(key, message);
    return message;
  }
  const Waiting receive = waiting->second;
  waiting_.erase(waiting);
  if (receive.bytes == message->length) {
    message->target = static_cast<std::byte*>(receive.data);
    message->completion = receive.completion;
  } else {
    receive.completion->other_length = true;
    finished_.add(receive.completion, false);
  }
  return message;
}

/// The rest of the stream's current message will never come.
void UctInbox::give_up(Stream& stream) {
  Message& message = *stream.current;
  message.spoilt = true;
  message.target = nullptr;
  if (message.completion != nullptr) finished_.add(message.completion, false);
  stream.current.reset();
}

}  // namespace libcoll::transport::uct
