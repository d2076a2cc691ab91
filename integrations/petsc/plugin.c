/* -dll_append liblaneway_petsc.so -sf_type laneway: star forests on Laneway's plans in a program that knows nothing of
 * it. PETSc calls this by the library's name. */
#include <laneway/petscsf.h>

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_laneway_petsc(void);

PetscErrorCode PetscDLLibraryRegister_laneway_petsc(void) {
  PetscFunctionBegin;
  PetscCall(LNW_PetscSFRegister());
  PetscFunctionReturn(0);
}
