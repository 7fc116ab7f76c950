! SPDX-License-Identifier: Apache-2.0
!
! Ten crashes of Fortran, by number.
module corpus
  use iso_c_binding
  implicit none
  integer, volatile :: zero = 0
  type :: item
    integer :: id
    real(8) :: price
    integer :: parts(4)
  end type
  type(item), pointer, volatile :: nobody => null()
contains
  subroutine write_null(count, scale)
    integer, intent(in) :: count
    real(8), intent(in) :: scale
    integer, pointer :: at(:)
    call c_f_pointer(transfer(int(zero, 8), c_null_ptr), at, [count])
    at(1) = int(count * scale)
  end subroutine

  integer function divide(left, right) result(got)
    integer, intent(in) :: left, right
    got = left / right
  end function

  subroutine beyond(values, at)
    integer, intent(inout) :: values(*)
    integer(8), intent(in) :: at
    values(at) = 7
  end subroutine

  subroutine of_nobody(more)
    integer, intent(in) :: more
    zero = nobody%id + more
  end subroutine

  recursive subroutine deep(left, way)
    integer, intent(in) :: left, way
    integer :: here
    here = left * 3
    if (left > 0) then
      call deep(left - 1, way)
    else
      call end_by(way)
    end if
    zero = here * zero
  end subroutine

  subroutine end_by(way)
    integer, intent(in) :: way
    integer :: values(8), got
    type(item) :: one
    values = 5
    one = item(way + 40, 2.5d0, [1, 2, 3, 4])
    select case (mod(way, 5))
    case (0)
      call write_null(way + 2, 1.5d0)
    case (1)
      got = divide(way + 10, zero)
      zero = got
    case (2)
      call beyond(values, 400000000_8 + zero)
    case (3)
      call of_nobody(way)
    case (4)
      call abort
    end select
    zero = values(1) + one%id
  end subroutine
end module

program crash
  use corpus
  character(8) :: word
  integer :: way
  call get_command_argument(1, word)
  read (word, *) way
  if (way < 5) then
    call end_by(way)
  else
    call deep(4, way)
  end if
end program
