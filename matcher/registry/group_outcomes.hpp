#pragma once
// Ends the wait of a group with the outcome for all its members. It does not answer them.
#include <cstdint>
#include <string>

#include "group_table.hpp"

namespace sluice::matcher {

struct RegistryParts;

void refuse(RegistryParts& parts, Group& group, int status, std::string text);
/// There is no such file, or no further one, as a reader may expect: of little interest.
void refuse_quietly(RegistryParts& parts, Group& group, std::string text);
void give_step(RegistryParts& parts, Group& group, Step& step);
/// Answer to inquiries.
void describe(RegistryParts& parts, Group& group, std::uint8_t version);
/// The memory of the group's step was reclaimed, and its file exists.
void give_file(RegistryParts& parts, Group& group, const std::string& path, std::uint8_t version);
/// The data is only in the file, for one who is attached.
void show_file(RegistryParts& parts, Group& group, const std::string& path);
/// The file is from before the run. The caller continues with the file: it reads the file, or imports it
/// into a step.
void give_earlier_file(RegistryParts& parts, Group& group);
/// Removes the published dataset of the name, for all processes that do not have it open.
void take_away(RegistryParts& parts, Group& group);

}  // namespace sluice::matcher
