// A tensor whole on rank 0, from those that hold its pieces.
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/local_parameters.hpp"

namespace trireme {

class TensorCollector {
public:
    // `held`: what this rank has, or none. Everything outlives the collector.
    TensorCollector(const GradientPlan& plan, DType dtype, const LocalParameters* held, Communicator& control);

    // Collective over `control`. The values of a tensor, each piece from the first rank that holds it; (rows,
    // columns) on rank 0 until the next call, absent elsewhere. `spec` is of the whole tensor.
    ConstTensor collect(const ParameterSpec& spec);

private:
    void send(const Piece& piece, const ParameterSpec& spec);
    void receive(const Piece& piece, Tensor whole);
    Tensor own_part(const Piece& piece, const std::string& name) const;
    Tensor space(std::vector<std::byte>& bytes, std::size_t rows, std::size_t columns) const;

    const GradientPlan& plan_;
    DType dtype_;
    const LocalParameters* held_;
    Communicator& control_;
    std::vector<std::byte> whole_, parcel_;
};

}  // namespace trireme
