// A shared library that is loaded on first use, so that a program also starts if the library is missing.
#pragma once

#include <string>
#include <vector>

namespace trireme::device {

class SharedLibrary {
public:
    // Loads the first of `names` that the system finds. Throws ResourceError if the system finds none of them.
    // `purpose` is the subject of the error message, for example "sending from GPU to GPU".
    SharedLibrary(const std::vector<std::string>& names, const std::string& purpose);
    ~SharedLibrary();
    SharedLibrary(const SharedLibrary&) = delete;
    SharedLibrary& operator=(const SharedLibrary&) = delete;

    // Sets `function` to the address of the function `name`. Throws ResourceError if the library lacks the
    // function.
    template <class Function>
    void load_symbol(const char* name, Function*& function) const {
        function = reinterpret_cast<Function*>(find_symbol(name));
    }

private:
    void* find_symbol(const char* name) const;

    void* handle_ = nullptr;
    std::string name_;
};

}  // namespace trireme::device
