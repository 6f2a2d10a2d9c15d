#pragma once
#include <functional>

#include "control_protocol.hpp"

namespace sluice::runtime {

/// Makes one message of `last` and `next`, if `next` is of a kind of which one message may have several.
/// `last` then is that message, and `next` is empty. Returns false, and changes nothing, otherwise.
/// Only messages that come one directly after the other may be joined: so each process's requests stay in
/// their order, and a request that another one has caused stays behind it.
[[nodiscard]] bool join(RegistryBody& last, RegistryBody& next);

/// Before a message of several is sent: brings its requests into the order of the connections, in which the
/// registry has their processes.
void sort_by_connection(RegistryBody& body);

/// The same for messages to a matcher.
[[nodiscard]] bool join(MatcherBody& last, MatcherBody& next);
/// Calls `take` with each message of several, or with the one.
void for_each_message(MatcherBody body, const std::function<void(MatcherBody)>& take);

}  // namespace sluice::runtime
