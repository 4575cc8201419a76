// What all ranks of a group do together, with whole tensors and with the rows of a micro-batch. Sums are added
// in rank order, so that their bits do not depend on the MPI library; every rank gets the same bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/layout/box.hpp"

namespace trireme::comm {

// Bytes of scratch that sum_in_rank_order needs for one tensor.
std::size_t sum_scratch_bytes(const Communicator& group, device::ConstTensor values);

// Collective over `group`. values = sum over ranks of values, added in rank order: the ranks exchange pieces,
// each adds one piece, and the sums are gathered (the bytes of a ring). `values` is a contiguous f32 or f64
// tensor; temporaries come from `scratch`.
void sum_in_rank_order(Communicator& group, device::Tensor values, device::Arena& scratch);

// Collective over `group`. The values of all ranks, in rank order, on every rank; as many from each.
std::vector<double> gather_all(Communicator& group, std::span<const double> values);
std::vector<std::string> gather_all(Communicator& group, const std::string& text);

// Collective over `group`. Returns when every rank has come.
void barrier(Communicator& group);

// What the ranks of a tensor group do with the rows of a micro-batch that they have cut among themselves, or
// have all made a part of. `ranges` has the rows of each rank, in order and without gaps; they may be empty.

// Collective over `group`. Each rank has filled its own rows of `values` (rows, columns; contiguous); gets the
// others'.
void gather_rows(Communicator& group, device::Tensor values, const std::vector<layout::Range>& ranges);

// Collective over `group`. The own rows of `values` = sum over ranks of those rows, added in rank order; the
// other rows stay as they are. Temporaries come from `scratch`.
void sum_rows(Communicator& group, device::Tensor values, const std::vector<layout::Range>& ranges,
              device::Arena& scratch);

}  // namespace trireme::comm
