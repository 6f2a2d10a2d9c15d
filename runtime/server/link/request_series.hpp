#pragma once
#include <functional>

#include "control_protocol.hpp"

namespace sluice::runtime {

/// Makes one message of `last` and `next`, if they are of a kind of which one message may have several.
/// `last` then is that message, and `next` is used up. Returns false, and changes nothing, otherwise.
/// Only messages that come one directly after the other may be joined. So each process's requests stay in
/// their order, and a request that another one has caused stays behind it.
[[nodiscard]] bool join(RegistryBody& last, RegistryBody& next);

/// Before a message of several requests is sent: brings them into the order of the connections, in which the
/// registry has their processes.
void sort_by_connection(RegistryBody& body);
/// The order as a message of its own.
[[nodiscard]] MatcherBody body_of(const GrantOrder& order);
/// Calls `take` with each of the messages that a GrantSeries stands for, or with the one.
void for_each_message(MatcherBody body, const std::function<void(MatcherBody)>& take);

}  // namespace sluice::runtime
