// A pool of Flights of one size. They are allocated on first use or by reserve(), and reused.
#pragma once

#include <memory>
#include <vector>

#include "trireme/stage/stage.hpp"

namespace trireme::stage {

class FlightPool {
public:
    FlightPool(std::size_t bytes_each, device::MemorySpace place) : bytes_each_(bytes_each), place_(place) {}

    std::unique_ptr<Flight> take() {
        if (free_.empty()) make_one();
        std::unique_ptr<Flight> flight = std::move(free_.back());
        free_.pop_back();
        return flight;
    }
    void give_back(std::unique_ptr<Flight> flight) {
        flight->clear();
        free_.push_back(std::move(flight));
    }

    void reserve(std::size_t count) {
        while (count_ < count) make_one();
    }
    std::size_t bytes() const { return count_ * bytes_each_; }  // of all Flights that have been allocated

private:
    void make_one() {
        free_.push_back(std::make_unique<Flight>(bytes_each_, place_));
        ++count_;
    }

    std::size_t bytes_each_;
    device::MemorySpace place_;
    std::vector<std::unique_ptr<Flight>> free_;
    std::size_t count_ = 0;
};

}  // namespace trireme::stage
