#include "definition_replay.hpp"

#include <doctest/doctest.h>

#include "call_values.hpp"

using namespace sluice::api::netcdf;

namespace {

/// A dataset of calls that are known by numbers.
void make(const std::string& kind, const std::vector<int>& calls) {
  const auto made = std::make_shared<DefinitionReplay>(kind);
  DefinitionReplay& replay = *made;
  std::size_t done = 0;
  while (replay.is_replaying() && done < calls.size() &&
         replay.next(replay.question(calls[done], "f")) != nullptr)
    ++done;
  if (replay.is_replaying() && done < calls.size()) REQUIRE(replay.repeat(ProgramLibrary(nullptr), 0) == 0);
  for (; done < calls.size(); ++done)
    replay.add({replay.question(calls[done], "f"), calls[done], {}, true, [status = calls[done]](auto&&...) {
                  return status;
                }});
  DefinitionReplay::keep(made);
}

int status_of(DefinitionReplay& replay, int call) {
  const RecordedCall* const known = replay.next(replay.question(call, "f"));
  return known == nullptr ? -1 : known->status;
}

}  // namespace

TEST_CASE("definitions are replayed as long as they are those of an earlier dataset") {
  CHECK_FALSE(DefinitionReplay("a").is_replaying());
  make("a", {1, 2, 3});
  CHECK_FALSE(DefinitionReplay("other").is_replaying());
  DefinitionReplay replay("a");
  CHECK(replay.is_replaying());
  CHECK(status_of(replay, 1) == 1);
  CHECK(status_of(replay, 2) == 2);
  CHECK(status_of(replay, 4) == -1);
  CHECK(status_of(replay, 3) == 3);
  CHECK(status_of(replay, 3) == -1);
}

TEST_CASE("datasets of several kinds in turn are all replayed") {
  make("b", {1, 2, 3});
  make("b", {1, 2, 4, 5});
  make("b", {7});
  DefinitionReplay one("b"), other("b"), third("b");
  CHECK(status_of(one, 1) == 1);
  CHECK(status_of(one, 2) == 2);
  CHECK(status_of(one, 4) == 4);
  CHECK(status_of(one, 5) == 5);
  CHECK(status_of(other, 1) == 1);
  CHECK(status_of(other, 2) == 2);
  CHECK(status_of(other, 3) == 3);
  CHECK(status_of(third, 7) == 7);
}

TEST_CASE("a replay that ends makes the calls so far, and no others") {
  std::vector<int> made;
  const auto first = std::make_shared<DefinitionReplay>("c");
  for (const int call : {1, 2, 3})
    first->add({first->question(call, "f"), 0, {}, true, [&made, call](auto&&...) {
                  return made.push_back(call), 0;
                }});
  DefinitionReplay::keep(first);
  DefinitionReplay replay("c");
  CHECK(status_of(replay, 1) == 0);
  CHECK(status_of(replay, 2) == 0);
  CHECK(status_of(replay, 9) == -1);
  CHECK(replay.repeat(ProgramLibrary(nullptr), 0) == 0);
  CHECK(made == std::vector{1, 2});
  CHECK_FALSE(replay.is_replaying());
}

TEST_CASE("an attribute may have another value, which a replay that ends sets") {
  std::vector<std::string> made;
  const auto put = [&made](const DefinitionReplay& replay, int call, const std::string& value) {
    const auto repeat = [&made, value](auto&&...) { return made.push_back(value), 0; };
    return RecordedCall{replay.question(call, "put"), 0, value, true, repeat};
  };
  const auto first = std::make_shared<DefinitionReplay>("f");
  for (const char* const value : {"a", "b"}) first->add(put(*first, 1, value));
  DefinitionReplay::keep(first);
  DefinitionReplay replay("f");
  const AttributePlace time{0, -1, "time"}, units{0, 2, "units"};
  CHECK(replay.next_attribute(time, put(replay, 1, "c")) == 0);
  CHECK(replay.next_attribute(units, put(replay, 1, "b")) == 0);
  CHECK(replay.changed_attributes() == std::map<AttributePlace, std::string>{{time, "c"}});
  CHECK_FALSE(replay.next_attribute(time, put(replay, 2, "d")).has_value());
  CHECK(replay.repeat(ProgramLibrary(nullptr), 0) == 0);
  CHECK(made == std::vector<std::string>{"c", "b"});
}

TEST_CASE("an answer is only good for the same place") {
  const auto first = std::make_shared<DefinitionReplay>("d");
  first->add_inquiry({first->question(0, "count"), 0, "none"});
  first->add({first->question(1, "f")});
  first->add_inquiry({first->question(0, "count"), 0, "one"});
  DefinitionReplay::keep(first);
  DefinitionReplay replay("d");
  CHECK(replay.find(replay.question(0, "count"))->results == "none");
  CHECK(status_of(replay, 1) == 0);
  CHECK(replay.find(replay.question(0, "count"))->results == "one");
  CHECK(replay.find(replay.question(1, "count")) == nullptr);
}

TEST_CASE("what was given up, and what takes too much memory, is not kept") {
  const auto given_up = std::make_shared<DefinitionReplay>("e");
  given_up->give_up();
  given_up->add({given_up->question(1, "f")});
  DefinitionReplay::keep(given_up);
  CHECK_FALSE(DefinitionReplay("e").is_replaying());
  const auto large = std::make_shared<DefinitionReplay>("e");
  for (int i = 0; i < 100; ++i) large->add_inquiry({large->question(i, "f"), 0, std::string(1 << 20, 'x')});
  DefinitionReplay::keep(large);
  CHECK_FALSE(DefinitionReplay("e").is_replaying());
}

TEST_CASE("arguments are compared by what they point to, and results are given again") {
  const std::vector<int> list{1, 2}, same{1, 2}, other{1, 3};
  const auto question = [](const std::vector<int>& values) {
    std::string text;
    add_question(text, static_cast<const char*>("name"));
    const std::size_t count = values.size();
    add_question(text, Values<const int, std::size_t>{values.data(), &count});
    return text;
  };
  CHECK(question(list) == question(same));
  CHECK(question(list) != question(other));
  int number = 7;
  char name[8] = "abc";
  std::string answer;
  add_answer(answer, &number);
  add_answer(answer, static_cast<char*>(name));
  int number_again = 0;
  char name_again[8] = "";
  const char* from = answer.data();
  give_answer(from, &number_again);
  give_answer(from, static_cast<char*>(name_again));
  CHECK(number_again == 7);
  CHECK(std::string(name_again) == "abc");
}
