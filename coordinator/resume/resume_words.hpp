#pragma once
#include <string>

#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// Replaces {resume} in commands, environments and launcher options by the number of times that the workflow
/// has been resumed: 0 in a run that begins anew.
void set_resume_number(workflows::Workflow& workflow, int resumes);

}  // namespace sluice::coordinator
