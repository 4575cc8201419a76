// Memory that messages of a simulation come from and go to where nobody looks at what they carry.
#pragma once

#include <cstddef>

namespace trireme {

// So many bytes, of which the simulator copies none, however large a message is.
class BlankMemory {
public:
    explicit BlankMemory(std::size_t bytes);
    ~BlankMemory();
    BlankMemory(const BlankMemory&) = delete;
    BlankMemory& operator=(const BlankMemory&) = delete;

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

private:
    std::size_t bytes_;
    void* data_;
};

}  // namespace trireme
