// Predicted work of a model's layers, before any layer has been measured in this run.
#pragma once

#include <vector>

#include "trireme/policy/layer_work.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {

// Returns the work of each layer for the largest micro-batch. Kernel times are those of the device of rank 0 if
// it is described or profiled; otherwise they follow from FLOPs and bytes. Memory is that of an even share.
std::vector<policy::LayerWork> work_of_layers(const Job& job, const PlanState& current);

// Returns the kernel times of a rank's device if it is described or profiled. If empty, kernels take their real
// time.
device::KernelSeconds kernel_seconds_of(const Job& job, int rank);

}  // namespace trireme::setup
