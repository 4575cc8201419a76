// What a rank sees of its own machine.
#pragma once

#include "tools/doctor/facts.hpp"
#include "trireme/tools/doctor.hpp"

namespace trireme::doctor {

// All but what has to be measured.
RankFacts own_facts(const DoctorPlace& place);

}  // namespace trireme::doctor
