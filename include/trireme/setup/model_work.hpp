// What the layers of a model ask of devices, before any of them has been measured in this run.
#pragma once

#include <vector>

#include "trireme/policy/layer_work.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {

// Of the largest micro-batch, by what kernels take on the device of rank 0 where it is described or profiled;
// otherwise by their arithmetic and the bytes that they touch. Bytes are those of an even share.
std::vector<policy::LayerWork> work_of_layers(const Job& job, const PlanState& current);

// What a kernel takes on a rank's device, where that is described or profiled; none: what it takes.
device::KernelSeconds kernel_seconds_of(const Job& job, int rank);

}  // namespace trireme::setup
